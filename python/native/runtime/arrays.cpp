// SPDX-License-Identifier: Apache-2.0
// A capsule owns the tensor whose memory went to Python.
#include "arrays.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/core/error.h"

namespace weft::python {
namespace {

namespace nb = nanobind;

nb::dlpack::dtype dtype_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kBool:
      return nb::dtype<bool>();
    case at::kInt:
      return nb::dtype<std::int32_t>();
    case at::kLong:
      return nb::dtype<std::int64_t>();
    case at::kFloat:
      return nb::dtype<float>();
    case at::kDouble:
      return nb::dtype<double>();
    default:
      fail(ErrorKind::kUnsupported, "results of ", c10::toString(tensor.scalar_type()), " cannot be handed to Python");
  }
}

}  // namespace

Array array_of(const at::Tensor& tensor) {
  if (!tensor.is_cpu()) {
    fail(ErrorKind::kUnsupported, "results on ", tensor.device().str(),
         " cannot be handed to Python; expected the CPU");
  }
  auto held = std::make_unique<at::Tensor>(tensor.detach().contiguous());
  const std::vector<std::size_t> shape(held->sizes().begin(), held->sizes().end());
  void* const memory = held->mutable_data_ptr();
  const nb::dlpack::dtype type = dtype_of(*held);
  const nb::capsule owner(held.get(), [](void* owned) noexcept { delete static_cast<at::Tensor*>(owned); });
  static_cast<void>(held.release());  // the capsule has it
  return Array(memory, shape.size(), shape.data(), owner, nullptr, type);
}

}  // namespace weft::python
