// SPDX-License-Identifier: Apache-2.0
// Masks that are no expression were given to weft::keep_layout, which is in another library. Who computes here asks for
// them there, by the dispatcher.
#pragma once

#include <string>

namespace weft::python {

/// Keeps a copy of the layout that `pattern` names here, unless one is kept, or `pattern` is an expression. Errors:
/// kArgument where no layout of that name is kept there either.
void take_over(const std::string& pattern);

}  // namespace weft::python
