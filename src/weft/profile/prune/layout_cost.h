// SPDX-License-Identifier: Apache-2.0
// What the attention of a layout is predicted to take, forwards: seconds on a machine that was calibrated, else keys
// that the kernel computes, whose ratios are all that matters.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/inspect/cost/layout_work.h"
#include "weft/inspect/cost/machine_rates.h"
#include "weft/pattern/pattern.h"

namespace weft::profile {

class LayoutCost {
 public:
  /// Without rates, keys are counted.
  explicit LayoutCost(const std::optional<inspect::MachineRates>& rates = {});

  bool is_seconds() const noexcept { return rates_.has_value(); }
  /// Of all heads, for one text, in the order of the text.
  double of(const pattern::BlockLayout& layout, std::int64_t head_dim) const;
  /// Of all heads, for one text, as attention computes the pattern: with strides in columns, where that is faster.
  /// Errors: those of compile().
  double of(const pattern::Pattern& pattern, const pattern::Site& site, std::int64_t head_dim) const;
  /// Of one full block of 64 x 64 and of one of another kind, nothing else counted.
  double of_block(bool is_full, std::int64_t head_dim) const;

 private:
  inspect::KernelRates kernel(std::int64_t head_dim) const;

  std::optional<inspect::MachineRates> rates_;
};

}  // namespace weft::profile
