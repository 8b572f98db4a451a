// SPDX-License-Identifier: Apache-2.0
// What memory a call takes besides what was there before it.
#pragma once

#include <cstdint>
#include <functional>

namespace weft::bench {

/// The most bytes that tensors, and on a CPU the workspace of the fused kernel, held at once while `work` ran on
/// attention::opening_device(), beyond those that were there before it. Its result counts.
std::int64_t most_bytes_of(const std::function<void()>& work);

}  // namespace weft::bench
