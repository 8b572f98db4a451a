// SPDX-License-Identifier: Apache-2.0
// What every mechanism does unless it says otherwise: its weights as a matrix, and steps behind remembered keys.
#include "weft/attention/mechanism.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "weft/attention/state/keys_and_values.h"
#include "weft/attention/state/state_checks.h"
#include "weft/core/error.h"
#include "weft/kernels/arguments.h"

namespace weft::attention {

at::Tensor AttentionImpl::weights(const at::Tensor& query, const at::Tensor& key, const AttentionContext& context) {
  require(key.dim() == 4 && key.size(2) > 0, "attention: weights need keys [batch, heads, length, head_dim], found ",
          key.sizes());
  AttentionContext whole = context;
  whole.without_dropout = true;
  const std::int64_t keys = key.size(2);
  std::vector<at::Tensor> pieces;
  // The kernel takes so many columns at once.
  for (std::int64_t first = 0; first < keys; first += kernels::kMaximumHeadDim) {
    const std::int64_t columns = std::min(kernels::kMaximumHeadDim, keys - first);
    // Columns of the identity [keys, keys], which is never there whole.
    const at::Tensor identity = at::zeros({keys, columns}, key.options().requires_grad(false));
    identity.narrow(0, first, columns).fill_diagonal_(1);
    pieces.push_back(forward(query, key, identity.expand({key.size(0), key.size(1), keys, columns}), whole));
  }
  return pieces.size() == 1 ? pieces.front() : at::cat(pieces, -1);
}

DropoutOfCall AttentionImpl::dropout_of(const AttentionContext& context) const {
  if (!is_training() || site_.dropout <= 0 || context.without_dropout) {
    return {};
  }
  return {site_.dropout, context.seed.derived(static_cast<std::uint64_t>(site_.layer))};
}

std::unique_ptr<AttentionState> AttentionImpl::initial_state() const {
  return std::make_unique<KeysAndValues>(site_.layer);
}

at::Tensor AttentionImpl::step(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                               const AttentionContext& context, AttentionState& state) {
  auto& held = state_as<KeysAndValues>(state);
  check_goes_on(context.query_offset, state);
  held.append(key, value);
  const std::int64_t tokens = held.kept() + key.size(2);
  AttentionContext behind = context;  // what a state has forgotten is not there: positions count what it remembers
  behind.query_offset = held.kept();
  if (behind.key_keep.defined() && behind.key_keep.size(1) > tokens) {
    behind.key_keep = behind.key_keep.narrow(1, behind.key_keep.size(1) - tokens, tokens);
  }
  return forward(query, held.keys(tokens), held.values(tokens), behind);
}

}  // namespace weft::attention
