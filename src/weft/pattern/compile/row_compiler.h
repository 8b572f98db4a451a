// SPDX-License-Identifier: Apache-2.0
// Compiles one group of heads and batch rows that share a pattern: walks each row of query blocks, prunes keys by
// recursive bisection, computes exact bits where a block is neither empty nor even, and copies rows that repeat.
#pragma once

#include <unordered_map>
#include <vector>

#include "weft/pattern/compile/tile_store.h"
#include "weft/pattern/layout.h"
#include "weft/pattern/syntax.h"

namespace weft::pattern {

/// More blocks than this in one layout are an error (2 GB of block arrays).
inline constexpr std::int64_t kMaximumBlocks = std::int64_t{1} << 28;

struct SignatureHash {
  std::size_t operator()(const Signature& numbers) const noexcept;
};

class RowCompiler {
 public:
  /// `layout` has tile and lengths; `context` has the lengths of the batch row, which may be shorter.
  RowCompiler(const Node& root, const Context& context, BlockLayout& layout, TileStore& store);

  /// Appends the rows of one group and their ends to `row_begin`; returns the number of edges.
  std::int64_t run();

 private:
  std::int64_t begin_key(std::int64_t block) const { return block * layout_.tile.key; }
  bool is_cut(std::int64_t key_block) const;
  void walk(std::int64_t first, std::int64_t end);
  void even_blocks(std::int64_t first, std::int64_t end, int multiplicity);
  void exact_block(std::int64_t key_block);
  void append(std::int64_t key_block, std::int32_t kind);
  std::int32_t exact_kind(std::int64_t key_block);
  Range keys_of(std::int64_t key_block) const;
  bool fill_bits(std::int64_t key_block);
  bool fill_counts(std::int64_t key_block);
  void fill_rectangle(const Range& query, const Range& key, const Range& origin);
  void emit(std::int64_t key_block, std::int32_t kind);
  bool can_shift() const;
  void shifted_row();

  const Node& root_;
  Context context_;
  BlockLayout& layout_;
  TileStore& store_;
  bool weighted_;
  std::int64_t shift_queries_ = 0;  // in blocks; 0 where rows do not repeat
  std::int64_t shift_keys_ = 0;     // in blocks
  std::int64_t row_ = 0;            // the query block at work
  Range query_;                     // its positions that exist in the batch row
  std::int64_t queries_ = 0;        // its queries that exist in the layout
  std::int64_t edges_ = 0;
  std::int64_t key_blocks_ = 0;  // of the batch row
  std::size_t first_row_ = 0;    // index of the group's first row in row_begin
  Signature signature_;
  std::unordered_map<Signature, std::int32_t, SignatureHash> known_;  // kinds of blocks met before
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint64_t> column_;  // a word of each query
  std::vector<int> counts_;
};

}  // namespace weft::pattern
