// SPDX-License-Identifier: Apache-2.0
// The mechanism behind every pattern expression: compiles the pattern for the lengths of a call and runs the operator.
#pragma once

#include "weft/attention/mechanism.h"

namespace weft::attention {

class PatternAttention : public AttentionImpl {
 public:
  /// Errors: those of Pattern::parse.
  PatternAttention(const std::string& expression, const MechanismSite& site);
  /// Errors: those of Pattern::check.
  PatternAttention(const pattern::Pattern& pattern, const MechanismSite& site);

  at::Tensor forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionContext& context) override;
  std::string description() const override { return pattern_.to_string(); }
  std::vector<pattern::PatternFile> files() const override { return pattern_.files(); }
  const pattern::Pattern& pattern() const noexcept { return pattern_; }

 private:
  LayoutPtr layout_for(const at::Tensor& query, const at::Tensor& key, const AttentionContext& context) const;

  MechanismSite site_;
  pattern::Pattern pattern_;
  at::Tensor slopes_;  // [heads] or undefined
};

}  // namespace weft::attention
