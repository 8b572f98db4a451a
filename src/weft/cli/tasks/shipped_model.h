// SPDX-License-Identifier: Apache-2.0
// The models that come with the program.
#pragma once

#include <string>

namespace weft::cli {

/// The directory of the shipped model `name`: in the folder that WEFT_MODELS names, else in share/weft/models beside
/// the folder of the program, else, for a program that was built and not installed, in that of the source tree. Errors:
/// kIo naming where it was looked for.
std::string shipped_model(const std::string& name);

}  // namespace weft::cli
