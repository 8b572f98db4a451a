// SPDX-License-Identifier: Apache-2.0
// The page of `weft serve` and the routes that only it needs: files, and the workbench of patterns.
#pragma once

#include <cstdint>

#include "weft/server/router.h"

namespace weft::cli {

/// Adds "/" and the files that it asks for, which need no key, GET /v1/patterns and POST /v1/pattern. `threads` as in
/// find_rates().
void add_page_routes(server::Router& router, std::int64_t threads);

/// GET /v1/patterns: the names of the language and published patterns. POST /v1/pattern: picture, measures and cost of
/// one expression.
void add_pattern_routes(server::Router& router, std::int64_t threads);

}  // namespace weft::cli
