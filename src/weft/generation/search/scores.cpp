// SPDX-License-Identifier: Apache-2.0
// The scores of a step, and tables of texts.
#include "weft/generation/search/scores.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <limits>

#include "weft/core/error.h"

namespace weft::generation {
namespace {

// First without a branch for each number, which a compiler makes many at a time.
bool all_below_infinity(std::span<const float> scores) {
  int wrong = 0;
  for (const float score : scores) {
    wrong |= static_cast<int>(!(score < std::numeric_limits<float>::infinity()));  // also for NaN
  }
  return wrong == 0;
}

void check_finite(std::span<const float> scores) {
  if (all_below_infinity(scores)) {
    return;
  }
  for (std::size_t id = 0; id < scores.size(); ++id) {
    if (!(scores[id] < std::numeric_limits<float>::infinity())) {  // also for NaN
      fail(ErrorKind::kNumeric, "the logit of token ", id, " is ", scores[id],
           ": the model's weights hold NaN or infinity, or its numbers overflow");
    }
  }
}

}  // namespace

at::Tensor step_scores(const SearchPlan& plan, const at::Tensor& tokens, layers::DecodingState& state) {
  const at::Tensor logits = plan.decoder.step(tokens, state);
  // A copy only where it is needed: nobody else reads the decoder's logits.
  return logits.detach().to(at::kCPU, at::kFloat).contiguous();
}

void check_scores(const SearchPlan& plan, std::span<const float> scores) {
  if (!plan.config.remove_invalid_values) {
    check_finite(scores);
  }
}

std::span<float> row_of(const at::Tensor& scores, std::int64_t row) {
  return {scores.data_ptr<float>() + row * scores.size(1), static_cast<std::size_t>(scores.size(1))};
}

void for_each_row(std::int64_t rows, std::int64_t width, const std::function<void(std::int64_t row)>& work) {
  constexpr std::int64_t kNumbersOfAThread = 8192;  // to wake one up costs as much
  const std::int64_t grain = std::max<std::int64_t>(1, kNumbersOfAThread / std::max<std::int64_t>(1, width));
  at::parallel_for(0, rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      work(row);
    }
  });
}

at::Tensor list_of(const Ids& ids) { return at::tensor(ids, at::kLong); }

at::Tensor table_of(const std::vector<Ids>& texts) {
  const auto columns = static_cast<std::int64_t>(texts.front().size());
  at::Tensor table = at::empty({std::ssize(texts), columns}, at::kLong);
  for (std::size_t row = 0; row < texts.size(); ++row) {
    std::copy(texts[row].begin(), texts[row].end(),
              table.mutable_data_ptr<std::int64_t>() + static_cast<std::int64_t>(row) * columns);
  }
  return table;
}

}  // namespace weft::generation
