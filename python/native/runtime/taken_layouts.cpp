// SPDX-License-Identifier: Apache-2.0
// The operator weft::kept_layout gives the arrays that keep_layout was given.
#include "taken_layouts.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <tuple>

#include "kept_layouts.h"

namespace weft::python {
namespace {

constexpr std::size_t kMostBytes = std::size_t{512} << 20;

using Parts = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

template <typename Number>
std::span<const Number> numbers(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<Number>(), static_cast<std::size_t>(tensor.numel())};
}

}  // namespace

void take_over(const std::string& pattern) {
  if (!pattern.starts_with(kKept)) {
    return;
  }
  const std::string name = pattern.substr(kKept.size());
  if (is_kept(name)) {
    return;
  }
  const auto handle =
      c10::Dispatcher::singleton().findSchemaOrThrow("weft::kept_layout", "").typed<Parts(std::string_view)>();
  const auto [row_begin, key_block, kind, mask_bits, lengths] = handle.call(name);
  const std::span<const std::int64_t> sizes = numbers<std::int64_t>(lengths);
  keep_layout(name,
              {numbers<std::int64_t>(row_begin), numbers<std::int32_t>(key_block), numbers<std::int32_t>(kind),
               numbers<std::int64_t>(mask_bits), sizes[0], sizes[1]},
              kMostBytes);
}

}  // namespace weft::python
