// SPDX-License-Identifier: Apache-2.0
// Layouts that are no expression: packed texts, images between words. Whoever reads such a mask keeps its blocks under
// a name, and weft::attend is given `kept:NAME` in place of an expression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "weft/attention/layout.h"

namespace weft::python {

inline constexpr std::string_view kKept = "kept:";

/// Blocks of 64 x 64 pairs, the same for all heads: BlockLayout says what the arrays hold.
struct KeptBlocks {
  std::span<const std::int64_t> row_begin;  ///< [query blocks + 1]
  std::span<const std::int32_t> key_block;
  std::span<const std::int32_t> kind;       ///< kFullBlock, or a mask
  std::span<const std::int64_t> mask_bits;  ///< [masks][64]
  std::int64_t query_length = 0;
  std::int64_t key_length = 0;
};

/// Keeps the blocks, unless a layout of that name is there. Of all that is kept, those that were not asked for longest
/// go until at most `most_bytes` are left; the last one stays. Errors: kArgument for arrays that are no layout, since a
/// kernel follows them unchecked.
void keep_layout(const std::string& name, const KeptBlocks& blocks, std::size_t most_bytes);

/// Errors: kArgument where no layout of that name is there, or one of other lengths.
attention::LayoutPtr kept_layout(std::string_view name, const pattern::Site& site);

bool is_kept(std::string_view name);

/// The layout of that name for any number of heads. Errors: kArgument where none is there.
attention::LayoutPtr kept_layout(std::string_view name);

}  // namespace weft::python
