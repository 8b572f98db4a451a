// SPDX-License-Identifier: Apache-2.0
// What several runs that differ in their seed come to.
#pragma once

#include <vector>

#include "weft/formats/config_json.h"

namespace weft::runs {

/// For every figure that all `evaluations` have as a number: {"mean", "deviation", "values"}; the deviation is the
/// sample's (n - 1), null for a single seed.
formats::Json seed_statistics(const std::vector<formats::Json>& evaluations);

}  // namespace weft::runs
