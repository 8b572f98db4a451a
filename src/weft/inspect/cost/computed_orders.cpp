// SPDX-License-Identifier: Apache-2.0
// Orders as attention has them (attention/permuted/stride_parts.h), and the sum of their work.
#include "weft/inspect/cost/computed_orders.h"

#include "weft/pattern/compile/stride_columns.h"

namespace weft::inspect {

std::vector<ComputedOrder> computed_orders(const pattern::Pattern& pattern, const pattern::Site& site) {
  const auto split = pattern::strides_in_columns(pattern, site);
  if (!split) {
    return {ComputedOrder{pattern, site}};
  }
  std::vector<ComputedOrder> orders;
  if (split->rest) {
    orders.push_back({*split->rest, site});
  }
  for (const pattern::StrideColumns& columns : split->columns) {
    pattern::Site places = site;
    places.query_length = places.key_length = columns.places();
    orders.push_back({columns.pattern, places});
  }
  return orders;
}

LayoutWork computed_work(const pattern::Pattern& pattern, const pattern::Site& site, std::int64_t head_dim) {
  LayoutWork work;
  for (const ComputedOrder& order : computed_orders(pattern, site)) {
    work += layout_work(compile(order.pattern, order.site, {64, 64}), head_dim);
  }
  return work;
}

}  // namespace weft::inspect
