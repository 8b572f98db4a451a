// SPDX-License-Identifier: Apache-2.0
// The sizes that the fused kernel works in, and memory for a thread's buffers.
#pragma once

#include <cstdint>

#include "weft/kernels/workspace.h"

namespace weft::kernels {

/// Queries and keys of a block of the layout that this kernel takes; fewer queries are fine.
inline constexpr int kTile = 64;

/// Queries that are worked on at once: their scores stay in the first-level cache (64 keys x 32 x 4 bytes = 8 KB), and
/// keys that none of them sees are skipped.
inline constexpr int kPanel = 32;
inline constexpr int kPanels = kTile / kPanel;

/// `count` rounded up to a multiple of `step`.
[[gnu::always_inline]] constexpr std::int64_t round_up(std::int64_t count, std::int64_t step) noexcept {
  return (count + step - 1) / step * step;
}

[[gnu::always_inline]] constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) noexcept { return a < b ? a : b; }
[[gnu::always_inline]] constexpr std::int64_t larger(std::int64_t a, std::int64_t b) noexcept { return a < b ? b : a; }

/// The lowest `count` bits, for 0 <= count <= 64.
[[gnu::always_inline]] constexpr std::uint64_t low_bits(std::int64_t count) noexcept {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

/// Vectors of queries from `first_query` on, and keys [begin, end) of a block whose first key, a multiple of 64, is
/// `first_key`.
struct PanelSpan {
  std::int64_t vectors;
  std::int64_t first_query;
  std::int64_t first_key;
  std::int64_t begin;
  std::int64_t end;
};

/// Uninitialised memory on a cache line's boundary. Like everything here it is a template on the instruction set, so
/// that the linker cannot join copies that were compiled for different ones.
template <class Isa, typename Number>
class Buffer {
 public:
  explicit Buffer(std::int64_t count) noexcept
      : bytes_(count * static_cast<std::int64_t>(sizeof(Number))),
        data_(static_cast<Number*>(take_workspace(bytes_))) {}
  ~Buffer() { give_workspace_back(data_, bytes_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  /// False when there was no memory.
  bool is_there() const noexcept { return data_ != nullptr; }
  Number* data() const noexcept { return data_; }
  Number& operator[](std::int64_t at) const noexcept { return data_[at]; }

 private:
  std::int64_t bytes_;
  Number* data_;
};

}  // namespace weft::kernels
