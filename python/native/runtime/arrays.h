// SPDX-License-Identifier: Apache-2.0
// Numbers at the border to Python. They go out as an object that NumPy and PyTorch both read without a copy (by DLPack
// or Python's buffers), so that neither has to be there.
#pragma once

#include <ATen/core/Tensor.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace weft::python {

/// What a binding returns; weft_attention makes NumPy's or PyTorch's of it.
using Array = nanobind::ndarray<nanobind::array_api, nanobind::c_contig, nanobind::device::cpu>;

/// The memory of `tensor`, which the result keeps; copied where it is not contiguous. Asks for the GIL. Errors:
/// kUnsupported for another dtype than bool, int32, int64, float32 and float64, and for another device than the CPU.
Array array_of(const at::Tensor& tensor);

}  // namespace weft::python
