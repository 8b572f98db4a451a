// SPDX-License-Identifier: Apache-2.0
// Names and sizes of element types, one row each.
#include "weft/formats/dtype.h"

#include <iterator>

namespace weft::formats {
namespace {

struct Row {
  std::string_view name;
  std::size_t size;
};

constexpr Row kRows[] = {
    {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"F8_E8M0", 1},
    {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},     {"U32", 4},
    {"F32", 4},  {"C64", 8}, {"F64", 8}, {"I64", 8},     {"U64", 8},
};
static_assert(std::size(kRows) == static_cast<std::size_t>(Dtype::U64) + 1);

}  // namespace

std::size_t dtype_size(Dtype dtype) noexcept { return kRows[static_cast<std::size_t>(dtype)].size; }

std::string_view dtype_name(Dtype dtype) noexcept { return kRows[static_cast<std::size_t>(dtype)].name; }

std::optional<Dtype> find_dtype(std::string_view name) noexcept {
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].name == name) {
      return static_cast<Dtype>(i);
    }
  }
  return std::nullopt;
}

std::string_view dtype_names() noexcept {
  return "BOOL, U8, I8, F8_E5M2, F8_E4M3, F8_E8M0, I16, U16, F16, BF16, I32, U32, F32, C64, F64, I64, U64";
}

}  // namespace weft::formats
