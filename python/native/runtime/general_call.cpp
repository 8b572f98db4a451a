// SPDX-License-Identifier: Apache-2.0
// Layouts are those of weft::attend, compiled once more: its library shares nothing but tensors with this one.
#include "general_call.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros_like.h>

#include "layouts.h"
#include "taken_layouts.h"
#include "weft/attention/operator/checks.h"
#include "weft/attention/operator/paths.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::python {
namespace {

using attention::Call;

std::uint64_t seed_of(const GeneralInputs& inputs, const GeneralSettings& settings) {
  if (settings.dropout <= 0) {
    return 0;
  }
  const auto& seed = inputs.seed;
  require(seed && seed->scalar_type() == at::kLong && seed->is_cpu() && seed->numel() == 1,
          "attend: dropout needs a seed, an int64 tensor of one element");
  return static_cast<std::uint64_t>(seed->item<std::int64_t>());
}

Call call_of(const GeneralInputs& inputs, const GeneralSettings& settings) {
  const at::Tensor key_keep = inputs.key_keep.value_or(at::Tensor());
  const std::uint64_t seed = seed_of(inputs, settings);
  attention::check_numbers(settings.scale, settings.dropout);
  attention::check_tensors(inputs.query, inputs.key, inputs.value, key_keep);
  Call call{.query = inputs.query,
            .key = inputs.key,
            .value = inputs.value,
            .key_keep = key_keep,
            .scale = settings.scale,
            .dropout = {static_cast<float>(settings.dropout), seed, 0},
            .distances = {inputs.distances.value_or(at::Tensor()), settings.distance_zero},
            .asks_distances = inputs.distances.has_value()};
  return call;
}

bool has_no_pairs(const Call& call) {
  return call.query.size(0) == 0 || call.query.size(2) == 0 || call.key.size(2) == 0;
}

void find_way(Call& call, const GeneralSettings& settings) {
  pattern::Site site;
  site.query_length = call.query.size(2);
  site.key_length = call.key.size(2);
  site.query_offset = settings.query_offset;
  site.heads = call.query.size(1);
  site.layer = settings.layer;
  take_over(settings.pattern);
  call.layout = layout_of(settings.pattern, site);
  check_call(call);
  choose_way(call, attention::Asker::kOperator);
}

at::Tensor zeros_as_heads(const at::Tensor& tensor) {
  return attention::empty_heads(tensor.sizes(), tensor.options()).zero_();
}

}  // namespace

attention::Forward attend_general(const GeneralInputs& inputs, const GeneralSettings& settings) {
  Call call = call_of(inputs, settings);
  if (has_no_pairs(call)) {
    const at::Tensor& query = call.query;
    const at::TensorOptions sums = query.options().dtype(attention::accumulation_type(query));
    const at::Tensor output =
        attention::empty_heads({query.size(0), query.size(1), query.size(2), call.value.size(3)}, query.options());
    return {output.zero_(), at::full(query.sizes().slice(0, 3), -attention::kInfinity, sums)};
  }
  find_way(call, settings);
  return run_forward(call);
}

attention::Gradients attend_general_backward(const at::Tensor& output_gradient, const GeneralInputs& inputs,
                                             const attention::Forward& forward, const GeneralSettings& settings) {
  Call call = call_of(inputs, settings);
  check_results(call.query, call.value, forward, output_gradient);
  attention::Gradients gradients;
  if (has_no_pairs(call)) {
    gradients = {zeros_as_heads(call.query), zeros_as_heads(call.key), zeros_as_heads(call.value)};
    gradients.distances = inputs.distances ? at::zeros_like(*inputs.distances) : at::Tensor();
  } else {
    find_way(call, settings);
    gradients = run_backward(call, forward, output_gradient);
  }
  if (!inputs.distances) {
    gradients.distances = at::empty({0}, call.query.options().dtype(at::kFloat));
  }
  return gradients;
}

}  // namespace weft::python
