// SPDX-License-Identifier: Apache-2.0
// The slopes of ALiBi of one layer, published or learned, for the mechanisms that add them to their scores.
#pragma once

#include <cstdint>

#include <torch/nn/module.h>

#include "weft/attention/attention.h"
#include "weft/attention/mechanisms/spec.h"

namespace weft::attention {

/// What a head loses of a score for each position between query and key: floating [heads], or undefined without ALiBi.
struct AlibiSlopes {
  at::Tensor before;  ///< for keys before the query
  at::Tensor behind;  ///< for keys behind it: another tensor only where an encoder learns its slopes (BiALiBi)
  bool learned = false;

  bool defined() const noexcept { return before.defined(); }
  /// Whether a table of them may be kept: not where a gradient must reach the slopes, or nobody counts their changes.
  bool can_be_kept() const;
  /// Differs wherever an optimiser or a loaded file has changed them.
  std::int64_t version() const;
};

/// `spec` with the names of what a layer at `site` learns.
MechanismSpec with_learned_slopes(MechanismSpec spec, const MechanismSite& site);

/// The slopes at `site`, none without ALiBi. Where they are learned `owner` registers them as `slopes`, and in an
/// encoder those behind the query as `slopes_behind`; both begin as alibi_slopes().
AlibiSlopes alibi_slopes_at(const MechanismSite& site, torch::nn::Module& owner, const at::TensorOptions& options);

/// A table for distances up to `reach` on both sides, with numbers as `options` say; differentiable.
DistanceTable alibi_table(const AlibiSlopes& slopes, std::int64_t reach, const at::TensorOptions& options);

}  // namespace weft::attention
