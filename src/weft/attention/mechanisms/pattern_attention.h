// SPDX-License-Identifier: Apache-2.0
// The mechanism behind every pattern expression: compiles the pattern for the lengths of a call and runs the operator.
#pragma once

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

  at::Tensor slopes_;  // [heads] or undefined
};

}  // namespace weft::attention
