// SPDX-License-Identifier: Apache-2.0
// What every kind of state checks before it changes anything.
#pragma once

#include <algorithm>
#include <string_view>

#include <ATen/core/Tensor.h>

#include "weft/attention/state/attention_state.h"

namespace weft::attention {

/// `rows` of a reorder() for what is `held`, [B, ...]. Errors: kArgument that begins with `what`, unless they are int64
/// [B'] on the same device, each in [0, B).
inline void check_rows(const at::Tensor& rows, const at::Tensor& held, std::string_view what) {
  require(rows.defined(), what, ": rows must be int64 [batch], found no tensor");
  require(rows.scalar_type() == at::kLong && rows.dim() == 1 && rows.device() == held.device(), what,
          ": rows must be int64 [batch] on ", held.device(), ", found ", rows.scalar_type(), " ", rows.sizes(), " on ",
          rows.device());
  if (rows.numel() > 0) {
    const auto least = rows.min().item<std::int64_t>();
    const auto most = rows.max().item<std::int64_t>();
    require(least >= 0 && most < held.size(0), what, ": rows must name some of its ", held.size(0),
            " texts, but there is no row ", least < 0 ? least : most);
  }
}

/// The one of this name, undefined where there is none. A list of n tensors that holds n names holds each once.
inline at::Tensor named(const NamedTensors& tensors, std::string_view name) {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const auto& tensor) { return tensor.first == name; });
  return found == tensors.end() ? at::Tensor() : found->second;
}

/// AttentionImpl::step() goes on where its state ends. Errors: kArgument for another `query_offset`.
inline void check_goes_on(std::int64_t query_offset, const AttentionState& state) {
  require(query_offset == state.length(), "attention: query_offset must be the ", state.length(),
          " tokens that the state holds, found ", query_offset);
}

}  // namespace weft::attention
