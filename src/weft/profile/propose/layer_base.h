// SPDX-License-Identifier: Apache-2.0
// The pattern that a layer had while it was profiled, as what proposals begin with: a proposed pattern takes edges away
// from it and adds none, and is priced as the layer would compute it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "weft/pattern/pattern.h"
#include "weft/profile/attention_profile.h"
#include "weft/profile/prune/layout_cost.h"

namespace weft::profile {

/// The expression of a head that keeps what it had.
inline constexpr const char* kWholeHead = "full";

/// Expressions of heads leave out what the layer had: a head attends where both have an edge.
class LayerBase {
 public:
  /// Costs are predicted for texts whose longer side has `length` tokens, 0 for the longest of the profile; in
  /// cross-attention the shorter side keeps its share of the longer one. Files of the pattern lie below `directory`.
  /// `part` and `cost` outlive this. Errors: kUnsupported for a mechanism that is no pattern; those of compile for a
  /// length that the pattern does not fit.
  LayerBase(const Part& part, std::int64_t length, const LayoutCost& cost, const std::filesystem::path& directory = {});

  const Part& part() const noexcept { return part_; }
  /// Of all heads, at the lengths that costs are predicted for. A pattern that names `input` finds position 0 there.
  const pattern::Site& site() const noexcept { return site_; }
  const pattern::Pattern& pattern() const noexcept { return pattern_; }
  /// An expression of the layer that joined() made.
  pattern::Pattern parsed(const std::string& expression) const;
  /// Whether every position sees every other, or every one before it.
  bool is_dense() const noexcept { return is_dense_; }

  /// Predicted cost of the layer as it was.
  double cost() const { return priced(pattern_, site_); }
  /// Of the layer with `expression`, as joined() made it.
  double cost_of(const std::string& expression) const;
  /// Of one head alone that attends by `expression`.
  double head_cost(std::int64_t head, const std::string& expression) const;
  /// Whether the head had every edge of `expression` (below `causal`, where the layer is causal), at the lengths of the
  /// profile, of the prediction and of the longest text that the model takes.
  bool contains(std::int64_t head, const std::string& expression) const;
  /// The layer's expression for expressions of its heads, equal neighbours merged.
  std::string joined(const std::vector<std::string>& heads) const;

 private:
  double priced(const pattern::Pattern& pattern, const pattern::Site& site) const;
  pattern::Site site_of(std::int64_t queries, std::int64_t keys, std::int64_t heads) const;
  /// What one head had, over a site of one head.
  pattern::Pattern of_head(std::int64_t head) const;
  pattern::Pattern below_causal(const std::string& expression) const;

  const Part& part_;
  const LayoutCost& cost_;
  std::filesystem::path directory_;
  pattern::Pattern pattern_;
  pattern::Site site_;
  bool is_dense_ = false;
  mutable std::map<std::string, double> costs_;   // by expression and heads
  mutable std::map<std::string, bool> contains_;  // by what the head had, and expression
};

}  // namespace weft::profile
