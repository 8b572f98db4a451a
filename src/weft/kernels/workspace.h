// SPDX-License-Identifier: Apache-2.0
// The memory that fused kernels take beside their arguments, counted, so that a benchmark can say what a call needs.
#pragma once

#include <cstdint>

namespace weft::kernels {

/// Memory on a cache line's boundary, or null.
void* take_workspace(std::int64_t bytes) noexcept;
void give_workspace_back(void* memory, std::int64_t bytes) noexcept;

/// The most bytes that were held at once, over all threads, since the last reset.
std::int64_t workspace_peak() noexcept;
void reset_workspace_peak() noexcept;

}  // namespace weft::kernels
