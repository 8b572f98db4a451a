// SPDX-License-Identifier: Apache-2.0
// Scripts that complete commands, flags and their values in a shell. They hold everything: completing starts no
// program.
#pragma once

#include <string>

#include "weft/cli/front/manual/outline.h"

namespace weft::cli {

std::string bash_completion(const OutlinedCommand& program);
std::string zsh_completion(const OutlinedCommand& program);
std::string fish_completion(const OutlinedCommand& program);

}  // namespace weft::cli
