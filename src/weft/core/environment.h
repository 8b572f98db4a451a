// SPDX-License-Identifier: Apache-2.0
// Environment variables, read in one place. docs name those that Weft looks at: WEFT_ISA, WEFT_THREADS, WEFT_LOG,
// WEFT_PROGRESS_SECONDS, WEFT_CACHE and WEFT_CACHE_GB, the huggingface_hub ones and those of torchrun and mpirun.
#pragma once

#include <filesystem>
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

/// Where Weft keeps what it can make again: WEFT_CACHE, else weft in XDG_CACHE_HOME, else ~/.cache/weft. Nothing where
/// none of WEFT_CACHE, XDG_CACHE_HOME and HOME is set. The directory need not be there.
std::optional<std::filesystem::path> cache_directory();

/// Where temporary files go: TMPDIR, else /tmp. Errors: kIo naming the folder and TMPDIR where it is no folder.
std::filesystem::path temporary_directory();

}  // namespace weft
