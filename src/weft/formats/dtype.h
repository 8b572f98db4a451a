// SPDX-License-Identifier: Apache-2.0
// Element types of tensors in files, by the names that safetensors gives them. No Torch here: checkpoint/ maps them.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace weft::formats {

/// In the order in which the reference writer sorts tensors, smallest alignment first.
enum class Dtype {
  // NOLINTBEGIN(readability-identifier-naming): names of the format
  BOOL,
  U8,
  I8,
  F8_E5M2,
  F8_E4M3,
  F8_E8M0,
  I16,
  U16,
  F16,
  BF16,
  I32,
  U32,
  F32,
  C64,
  F64,
  I64,
  U64,
  // NOLINTEND(readability-identifier-naming)
};

/// Bytes of one element.
std::size_t dtype_size(Dtype dtype) noexcept;
/// "F32" and so on.
std::string_view dtype_name(Dtype dtype) noexcept;
/// The dtype of that name, or nothing.
std::optional<Dtype> find_dtype(std::string_view name) noexcept;
/// All names, "BOOL, U8, ...", for messages.
std::string_view dtype_names() noexcept;

}  // namespace weft::formats
