// SPDX-License-Identifier: Apache-2.0
// What the paper calls a gradient cache is activation checkpointing of whole mini-batches: the loss's gradient for each
// mini-batch's logits is what its replay begins with. Gradients of all mini-batches meet before a parameter has its
// own.
#include "weft/fine_tuning/mini_batches.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <numeric>

#include "weft/attention/accumulation.h"
#include "weft/attention/devices/placed.h"
#include "weft/layers/replay/recompute.h"

namespace weft::fine_tuning {
namespace {

std::vector<at::Tensor> leaves_of(const Objective& objective, const models::EncoderModel& model) {
  std::vector<at::Tensor> leaves = model->parameters();
  for (const auto& [name, parameter] : objective.parameters()) {
    leaves.push_back(parameter);
  }
  return leaves;
}

}  // namespace

std::vector<std::vector<std::size_t>> mini_batches(std::span<const TokenRow> rows, std::int64_t tokens) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rows[a].ids.size() < rows[b].ids.size(); });
  std::vector<std::vector<std::size_t>> batches;
  for (const std::size_t row : order) {  // the longest of a mini-batch is its last
    const std::int64_t length = std::ssize(rows[row].ids);
    const bool begins = batches.empty() || (std::ssize(batches.back()) + 1) * length > tokens;
    if (begins) {
      batches.emplace_back();
    }
    batches.back().push_back(row);
  }
  return batches;
}

at::Tensor run_in_mini_batches(const Objective& objective, const models::EncoderModel& model,
                               std::span<const TokenRow> rows, const MiniBatchOptions& options) {
  const std::vector<std::vector<std::size_t>> batches = mini_batches(rows, options.tokens);
  const bool replays = options.replay && batches.size() > 1;
  const std::vector<at::Tensor> leaves = replays ? leaves_of(objective, model) : std::vector<at::Tensor>();
  const c10::Device device = attention::device_of(*model);
  std::vector<at::Tensor> parts;
  std::vector<std::int64_t> place(rows.size());  // of each row among all parts
  std::int64_t next = 0;
  for (std::size_t number = 0; number < batches.size(); ++number) {
    std::vector<TokenRow> own;
    own.reserve(batches[number].size());
    for (const std::size_t row : batches[number]) {
      own.push_back(rows[row]);
      place[row] = next++;
    }
    models::EncoderInput input = objective.input(own, options.padding);
    input.seed = options.seed.derived(number);
    auto run = [&objective, held = models::EncoderModel(model), input](const at::Tensor& /*nothing*/) mutable {
      return attention::at_least_float(objective.run(*held, input).logits);
    };
    const at::Tensor nothing = at::empty({0}, at::TensorOptions(device));
    parts.push_back(replays ? layers::recompute(run, nothing, leaves) : run({}));
  }
  return at::cat(parts).index_select(0, at::tensor(place, at::kLong).to(device));
}

}  // namespace weft::fine_tuning
