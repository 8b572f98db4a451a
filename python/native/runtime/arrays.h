// SPDX-License-Identifier: Apache-2.0
// Numbers at the border to Python. Arrays of NumPy and tensors of PyTorch come in as memory (DLPack, or Python's
// buffers), and go out as an object that both read without a copy, so that neither has to be there.
#pragma once

#include <ATen/core/Tensor.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>

namespace weft::python {

/// What a binding takes: int64 or float32 [rows, columns] on the CPU. nanobind copies what has other strides, and
/// refuses what has another dtype.
using Ids = nanobind::ndarray<const std::int64_t, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;
using Floats = nanobind::ndarray<const float, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

/// What a binding returns; weft_attention makes NumPy's or PyTorch's of it.
using Array = nanobind::ndarray<nanobind::array_api, nanobind::c_contig, nanobind::device::cpu>;

/// The same memory, for as long as `given` is there. Nobody may write to it.
at::Tensor tensor_of(const Ids& given);
at::Tensor tensor_of(const Floats& given);

/// The memory of `tensor`, which the result keeps; copied where it is not contiguous. Asks for the GIL. Errors:
/// kUnsupported for another dtype than bool, int32, int64, float32 and float64, and for another device than the CPU.
Array array_of(const at::Tensor& tensor);

}  // namespace weft::python
