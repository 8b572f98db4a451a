// SPDX-License-Identifier: Apache-2.0
// Whether the LibTorch that was opened is one that libweft was compiled for. Libweft calls its C++, whose classes
// change with every minor version: over another one it may load, and compute wrongly.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::cli {

/// `found`: what LibTorch's aoti_torch_abi_version() gives, the major version in the highest byte and the minor in the
/// next; `compiled_for`: "LibTorch 2.15.0". Errors: kUnsupported that names both where they differ.
void check_libtorch_version(std::uint64_t found, std::string_view compiled_for);

}  // namespace weft::cli
