// SPDX-License-Identifier: Apache-2.0
// What is said of a model or a run, a line each.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weft::report {

/// Names and values of a table.
using NamedValues = std::vector<std::pair<std::string, std::string>>;

}  // namespace weft::report
