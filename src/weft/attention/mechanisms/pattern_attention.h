// SPDX-License-Identifier: Apache-2.0
// The mechanism behind every pattern expression: compiles the pattern for the lengths of a call and runs the operator.
#pragma once

#include <mutex>

#include "weft/attention/attention.h"
#include "weft/attention/mechanism.h"

namespace weft::attention {

class PatternAttention : public AttentionImpl {
 public:
  /// `spec` has a pattern.
  PatternAttention(MechanismSpec spec, const MechanismSite& site);

  at::Tensor forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionContext& context) override;

 private:
  LayoutPtr layout_for(const at::Tensor& query, const at::Tensor& key, const AttentionContext& context) const;

  DistanceTable alibi_for(const at::Tensor& query, const at::Tensor& key, const AttentionContext& context);

  at::Tensor slopes_;  // [heads] or undefined
  std::mutex mutex_;
  DistanceTable
      alibi_;  // of slopes_, for all distances so far: a decoded token costs its edges, not a table of all keys
};

}  // namespace weft::attention
