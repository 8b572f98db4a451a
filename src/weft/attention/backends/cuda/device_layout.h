// SPDX-License-Identifier: Apache-2.0
// A layout as the CUDA kernels read it, on their device: its arrays, its bits by rows and by columns, and the work as
// lists. It is copied once for each device and kept with the layout.
#pragma once

#include <ATen/core/Tensor.h>

#include "weft/attention/backends/cuda/kernel_device.h"
#include "weft/attention/layout.h"
#include "weft/kernels/cuda/device_call.h"

namespace weft::attention {

/// What both passes need. Addresses are those of `memory`.
struct RowsOnDevice {
  at::Tensor memory;
  pattern::LayoutView layout{};  ///< without mask bits, which `bits` has
  kernels::cuda::BlockBits bits;
  kernels::cuda::WorkList work;
  std::int64_t groups = 0;
  bool has_weights = false;
};

/// What the backward pass needs besides.
struct ColumnsOnDevice {
  at::Tensor memory;
  pattern::TransposeView transpose{};
  kernels::cuda::WorkList work;
};

/// The copy for the device of a launch; made on first use. Thread-safe.
const RowsOnDevice& rows_on_device(const Layout& layout, const Launch& launch);
/// `shares_keys`: whether heads share keys, so that the gradients of every block are joined.
const ColumnsOnDevice& columns_on_device(const Layout& layout, const Launch& launch, bool shares_keys);

}  // namespace weft::attention
