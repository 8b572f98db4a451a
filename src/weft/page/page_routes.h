// SPDX-License-Identifier: Apache-2.0
// The page of `weft serve` and the routes that only it needs: files, and the workbench of patterns.
#pragma once

#include <optional>

#include "weft/inspect/cost/model_cost.h"
#include "weft/server/router.h"

namespace weft::page {

/// Adds "/" and the files that it asks for, which need no key, GET /v1/patterns and POST /v1/pattern. Costs have
/// seconds only with `rates`.
void add_page_routes(server::Router& router, const std::optional<inspect::MachineRates>& rates);

/// GET /v1/patterns: the names of the language and published patterns. POST /v1/pattern: picture, measures and cost of
/// one expression.
void add_pattern_routes(server::Router& router, const std::optional<inspect::MachineRates>& rates);

}  // namespace weft::page
