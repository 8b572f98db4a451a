// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files (format: numpy.lib.format, versions 1 to 3): one array, written atomically, read without trust.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/formats/dtype.h"

namespace weft::formats {

struct NpyArray {
  Dtype dtype = Dtype::F32;
  std::vector<std::int64_t> shape;
  std::string data;  ///< row-major, little-endian
};

/// Writes the array at `data`, row-major, as version 1.0. Errors: kArgument for a dtype that NumPy lacks (BF16, F8),
/// for a negative dimension, and when `data` has not the bytes of shape and dtype; kIo.
void write_npy(const std::filesystem::path& path, Dtype dtype, std::span<const std::int64_t> shape,
               std::span<const std::byte> data);

/// Reads an array of at most `maximum_bytes`. Errors: kIo; kFormat naming the file and the rule: objects, big-endian
/// and column-major arrays are not read.
NpyArray read_npy(const std::filesystem::path& path, std::uint64_t maximum_bytes = std::uint64_t{1} << 32);

/// The same for the bytes of a file; `where` names them in messages.
NpyArray parse_npy(std::string_view content, std::string_view where);

}  // namespace weft::formats
