// SPDX-License-Identifier: Apache-2.0
// Manual pages in roff, section 1, made of the same words as --help.
#pragma once

#include <string>

#include "weft/cli/front/manual/outline.h"

namespace weft::cli {

/// "weft-pattern-show.1"
std::string man_page_name(const OutlinedCommand& command);

/// The page of one command. The pages of the commands below it are named in it.
std::string man_page(const OutlinedCommand& command);

}  // namespace weft::cli
