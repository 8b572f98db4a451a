// SPDX-License-Identifier: Apache-2.0
// Environment variables, read in one place. docs name those that Weft looks at: WEFT_ISA, WEFT_THREADS, WEFT_LOG, the
// huggingface_hub ones and those of torchrun and mpirun.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft {

/// The variable's value, or nothing when it is not set. A variable that is set but empty is an empty string.
std::optional<std::string> environment(const std::string& name);

/// 1, ON, YES or TRUE in any case, as huggingface_hub reads its variables.
bool is_true(std::string_view value) noexcept;

/// Whether the variable is set to a true value.
bool environment_is_true(const std::string& name);

}  // namespace weft
