// SPDX-License-Identifier: Apache-2.0
// The layout of an expression at the lengths of a call. Expressions are parsed once and layouts compiled once, as long
// as the bounded caches hold them.
#pragma once

#include <cstdint>
#include <string>

#include "weft/attention/layout.h"

namespace weft::python {

/// Errors: kExpression with line and column; kArgument for a pattern that names `input`, whose positions a call cannot
/// give.
attention::LayoutPtr layout_of(const std::string& expression, const pattern::Site& site);

}  // namespace weft::python
