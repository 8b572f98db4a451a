// SPDX-License-Identifier: Apache-2.0
// What an observer sees of Longformer's two attentions: the local one without the rows of global positions, and these
// rows as with_global_rows() computes them, each where it stands in its text.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/attention/global_projection.h"
#include "weft/attention/profile/attention_observer.h"

namespace weft::attention {

/// Stands between the local attention and whoever watches.
class GlobalRowsObserver final : public AttentionObserver {
 public:
  /// hidden_states [B, N, M] and `projection` as with_global_rows() is given them; `context` is that of the call, names
  /// who watches, and outlives this.
  GlobalRowsObserver(const AttentionContext& context, at::Tensor hidden_states, GlobalProjection projection);

  /// Hands on the local call, and the global rows of each text.
  void observe(const ObservedCall& seen) override;

 private:
  void show_global_rows(const ObservedCall& seen, std::int64_t row, const std::vector<std::int64_t>& positions);

  const AttentionContext& context_;
  at::Tensor hidden_states_;
  GlobalProjection projection_;
};

}  // namespace weft::attention
