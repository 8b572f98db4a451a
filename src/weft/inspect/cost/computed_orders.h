// SPDX-License-Identifier: Apache-2.0
// The graphs that attention over a pattern computes: one in the order of the text, or several where strides lie in
// columns (pattern/compile/stride_columns.h). Costs are sums over them.
#pragma once

#include <vector>

#include "weft/inspect/cost/layout_work.h"
#include "weft/pattern/pattern.h"

namespace weft::inspect {

/// A pattern over rows in some order, and how many of them there are.
struct ComputedOrder {
  pattern::Pattern pattern;
  pattern::Site site;
};

/// The graphs of one call at `site`; one that is `pattern` itself where the text keeps its order. Errors: as
/// Pattern::check.
std::vector<ComputedOrder> computed_orders(const pattern::Pattern& pattern, const pattern::Site& site);

/// layout_work() of all of them. What copying rows from one order to another takes is no part of it. Errors: as
/// compile() and layout_work().
LayoutWork computed_work(const pattern::Pattern& pattern, const pattern::Site& site, std::int64_t head_dim);

}  // namespace weft::inspect
