// SPDX-License-Identifier: Apache-2.0
// How much CPU memory LibTorch's tensors take at most while something runs.
#pragma once

#include <cstdint>
#include <functional>

namespace weft::testing {

/// The largest number of bytes that were allocated for tensors at one time during `work`, beyond what was there before;
/// it runs on one thread.
std::int64_t peak_tensor_bytes(const std::function<void()>& work);

}  // namespace weft::testing
