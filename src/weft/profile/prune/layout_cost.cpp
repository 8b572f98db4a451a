// SPDX-License-Identifier: Apache-2.0
// Without a calibration, rates that count keys.
#include "weft/profile/prune/layout_cost.h"

#include "weft/inspect/cost/computed_orders.h"

namespace weft::profile {

LayoutCost::LayoutCost(const std::optional<inspect::MachineRates>& rates) : rates_(rates) {}

inspect::KernelRates LayoutCost::kernel(std::int64_t head_dim) const {
  if (rates_) {
    return inspect::attention_rates(*rates_, "float32", head_dim).forward;
  }
  inspect::KernelRates keys;
  keys.key_seconds = 1;
  keys.masked_key_seconds = 1;
  return keys;
}

double LayoutCost::of(const pattern::BlockLayout& layout, std::int64_t head_dim) const {
  return inspect::forward_seconds(inspect::layout_work(layout, head_dim), kernel(head_dim));
}

double LayoutCost::of(const pattern::Pattern& pattern, const pattern::Site& site, std::int64_t head_dim) const {
  return inspect::forward_seconds(inspect::computed_work(pattern, site, head_dim), kernel(head_dim));
}

double LayoutCost::of_block(bool is_full, std::int64_t head_dim) const {
  constexpr double kKeys = 128;  // two panels of 32 queries meet 64 keys
  const inspect::KernelRates rates = kernel(head_dim);
  return is_full ? kKeys * rates.key_seconds : rates.masked_seconds + kKeys * rates.masked_key_seconds;
}

}  // namespace weft::profile
