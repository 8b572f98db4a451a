// SPDX-License-Identifier: Apache-2.0
// The names of the mechanisms that are no patterns, for messages where one is taken for the other. The
// mechanisms are those of attention/mechanisms/registry.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "weft/core/error.h"
#include "weft/pattern/language/lexer.h"

namespace weft::pattern {

/// In the order of the registry's table.
inline constexpr auto kMechanismNames =
    std::to_array<std::string_view>({"lsh", "linear", "relative", "span", "nystrom", "performer", "rfa", "linformer",
                                     "little_bird", "global_local", "transient_global"});

/// Errors: kExpression with a caret where the token of `expression`, which is read as a pattern, names a mechanism; the
/// message ends with `advice`.
inline void refuse_mechanism_name(std::string_view expression, const Token& token, std::string_view advice) {
  if (token.kind == TokenKind::kName && std::ranges::find(kMechanismNames, token.text) != kMechanismNames.end()) {
    fail_at(expression, token.where, concat(describe(token), " is a mechanism and no pattern", advice));
  }
}

}  // namespace weft::pattern
