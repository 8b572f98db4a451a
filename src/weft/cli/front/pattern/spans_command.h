// SPDX-License-Identifier: Apache-2.0
// `weft pattern spans`: a command of libweft, because it reads weights, below one of the program's own. The program
// lists it, and asks libweft for it where it is named.
#pragma once

#include <string_view>

namespace weft::cli {

/// Below `weft pattern`.
inline constexpr std::string_view kSpansName = "spans";
/// How the program asks libweft for it.
inline constexpr std::string_view kSpansPart = "pattern spans";
/// What the help says about it.
inline constexpr std::string_view kSpansAbout = "print the learned spans of a model, and freeze them into windows";

}  // namespace weft::cli
