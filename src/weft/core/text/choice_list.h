// SPDX-License-Identifier: Apache-2.0
// The choices of a field, for messages and help.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// The choices in their order, with `between` between them, without the empty one: it stands for a field that is not
/// given, and nobody can read it.
std::string choice_list(const std::vector<std::string_view>& choices, std::string_view between);

}  // namespace weft
