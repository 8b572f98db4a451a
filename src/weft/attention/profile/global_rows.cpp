// SPDX-License-Identifier: Apache-2.0
// Keys are projected here even where the model folds the projection into its few queries: the same scores to rounding.
#include "weft/attention/profile/global_rows.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <utility>

#include "weft/attention/tensors.h"

namespace weft::attention {

GlobalRowsObserver::GlobalRowsObserver(const AttentionContext& context, at::Tensor hidden_states,
                                       GlobalProjection projection)
    : context_(context), hidden_states_(std::move(hidden_states)), projection_(std::move(projection)) {}

void GlobalRowsObserver::observe(const ObservedCall& seen) {
  const at::NoGradGuard without_gradients;
  MassCall local = seen.call;
  const at::Tensor keep = local.query_keep.defined() ? local.query_keep.to(at::kCPU).clone()
                                                     : at::ones({local.query.size(0), local.query.size(2)}, at::kBool);
  for (std::int64_t row = 0; row < std::ssize(context_.rows); ++row) {
    for (const std::int64_t position : context_.rows[static_cast<std::size_t>(row)].input) {
      keep[row][position] = false;
    }
  }
  local.query_keep = keep;
  context_.observer->observe({seen.site, local, seen.spec});
  for (std::int64_t row = 0; row < std::ssize(context_.rows); ++row) {
    std::vector<std::int64_t> positions = context_.rows[static_cast<std::size_t>(row)].input;
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
    if (!positions.empty()) {
      show_global_rows(seen, row, positions);
    }
  }
}

void GlobalRowsObserver::show_global_rows(const ObservedCall& seen, std::int64_t row,
                                          const std::vector<std::int64_t>& positions) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const at::ScalarType type = accumulation_type(hidden_states_);
  const auto projected = [&](const at::Tensor& states, const LinearWeights& linear) {
    const at::Tensor bias = linear.bias.defined() ? linear.bias.to(type) : at::Tensor();
    // [n, M] -> [1, H, n, D]
    return at::linear(states, linear.weight.to(type), bias)
        .view({1, states.size(0), projection_.heads, -1})
        .transpose(1, 2);
  };
  const std::int64_t keys = context_.rows[static_cast<std::size_t>(row)].key_length.value_or(hidden_states_.size(1));
  const at::Tensor states = hidden_states_.select(0, row).to(type).narrow(0, 0, keys);
  const at::Tensor places = at::tensor(positions, at::kLong).to(states.device());
  pattern::Site site;
  site.query_length = std::ssize(positions);
  site.key_length = keys;
  site.heads = projection_.heads;
  MassCall call{.query = projected(states.index_select(0, places), projection_.query),
                .key = projected(states, projection_.key),
                .layout = cached_layout(pattern::Pattern::parse("full"), site, {64, 64}),
                .scale = seen.call.scale,
                .positions = positions};
  if (context_.key_keep.defined()) {
    call.key_keep = context_.key_keep.narrow(0, row, 1).narrow(1, 0, keys);
  }
  context_.observer->observe({seen.site, call, seen.spec});
}

}  // namespace weft::attention
