// SPDX-License-Identifier: Apache-2.0
// The work of a call, listed on the host from its layout: blocks of queries (of keys) in parts of bounded length, the
// longest first, and what is joined afterwards, in a fixed order; and the layout's bits in both directions. A plan
// follows from the layout alone, so that it is made once and kept with it. Arrays are the caller's.
#pragma once

#include <cstdint>

#include "weft/kernels/cuda/device_call.h"
#include "weft/pattern/layout_view.h"

namespace weft::kernels::cuda {

/// Blocks of one part, at least: a row of 16 blocks takes some 20 us of a multiprocessor.
inline constexpr std::int64_t kLongestPart = 16;
/// Items that keep a device busy: four rounds of three thread blocks on each of an H100's 132 multiprocessors. Layouts
/// with more blocks have longer parts, up to rows that are not cut, since what a part leaves is written and read again.
inline constexpr std::int64_t kBusyItems = 1536;

/// Of calls with one query a block (weft_cuda_decode): few, so that one text keeps all multiprocessors busy.
inline constexpr std::int64_t kLongestDecodePart = 4;

/// How many things a layout has, which a view does not say.
struct LayoutCounts {
  std::int64_t groups = 0;
  std::int64_t partial = 0;   ///< blocks of bits
  std::int64_t weighted = 0;  ///< blocks of log multiplicities
};
LayoutCounts counts_of(const pattern::LayoutView& layout) noexcept;

/// The most blocks of a part of a row or column of a layout, for all calls with it.
std::int64_t longest_part(const pattern::LayoutView& layout) noexcept;

/// One direction of a layout.
struct PlanSource {
  const std::int64_t* begin = nullptr;  ///< LayoutView::row_begin or TransposeView::column_begin
  const std::int32_t* met = nullptr;    ///< LayoutView::key_block or TransposeView::query_block
  const std::int32_t* kind = nullptr;   ///< LayoutView::kind for rows; null for columns
  std::int64_t blocks = 0;              ///< query_blocks or key_blocks
  std::int64_t groups = 0;
  std::int64_t longest = kLongestPart;
  bool joins_all = false;  ///< every item is a part, even if it is the only one
};

struct PlanSize {
  std::int64_t items = 0;
  std::int64_t joins = 0;
  std::int64_t most_items = 0;
  std::int64_t most_joins = 0;
  std::int64_t slots = 0;
  std::int64_t long_items = 0;  ///< see WorkList
};

PlanSize plan_size(const PlanSource& source) noexcept;

/// `items` [items], `joins` [joins], `item_begin` and `join_begin` [groups + 1].
struct PlanArrays {
  WorkItem* items = nullptr;
  std::int64_t* item_begin = nullptr;
  JoinItem* joins = nullptr;
  std::int64_t* join_begin = nullptr;
};
void fill_plan(const PlanSource& source, const PlanArrays& arrays) noexcept;

/// The list that a call is given: `arrays` may be copies on a device.
WorkList work_list(const PlanSize& size, const PlanArrays& arrays) noexcept;

/// Whether weft_cuda_decode takes a call: one query a block, and no dropout.
bool has_single_queries(const AttentionArguments& arguments) noexcept;

/// Bytes of DeviceCall::lost that a call with these plans needs, at most: for its walks over rows and over columns.
std::int64_t lost_flags(const DeviceCall& call) noexcept;

/// Whether rows of all inputs begin at multiples of 16 bytes, so that cp.async copies them; `gradients` may be empty.
bool has_aligned_rows(const AttentionArguments& arguments, const AttentionGradients& gradients) noexcept;

/// The numbers of kernels/dropout.h's draws; kernels have DropoutDraws::kSecond only.
Draws draws_of(const Dropout& dropout) noexcept;

/// Words of the partial blocks and of the weighted ones, 64 each: `rows` by queries, `columns` by keys. Tiles have 64
/// keys and at most 64 queries.
void fill_bits(const pattern::LayoutView& layout, const LayoutCounts& counts, std::uint64_t* rows,
               std::uint64_t* columns) noexcept;

}  // namespace weft::kernels::cuda
