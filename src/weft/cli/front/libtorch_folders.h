// SPDX-License-Identifier: Apache-2.0
// Where a LibTorch may be that no run path and no LD_LIBRARY_PATH names: that of a Python.
#pragma once

#include <filesystem>
#include <vector>

namespace weft::cli {

/// Folders that hold libtorch_cpu.so, the likeliest first: what WEFT_LIBTORCH names (LibTorch's folder, or its `lib`),
/// and if that is not set those of the virtual environment that is active, of the user's Python and of the machine's.
std::vector<std::filesystem::path> libtorch_folders();

}  // namespace weft::cli
