// SPDX-License-Identifier: Apache-2.0
// compile(): which heads and batch rows share a pattern, and the checks of tile and size before any work.
#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>

#include "weft/core/error.h"
#include "weft/pattern/compile/row_compiler.h"
#include "weft/pattern/pattern.h"

namespace weft::pattern {
namespace {

constexpr std::int32_t kMaximumTile = 1024;
constexpr std::int64_t kMaximumRows = std::int64_t{1} << 28;

void check_tile(const Tile& tile) {
  const bool key_allowed = tile.key == 8 || tile.key == 16 || tile.key == 32 || (tile.key > 0 && tile.key % 64 == 0);
  require(tile.query >= 1 && tile.query <= kMaximumTile && key_allowed && tile.key <= kMaximumTile,
          "pattern: a tile has 1 to ", kMaximumTile, " queries and 8, 16, 32 or a multiple of 64 up to ", kMaximumTile,
          " keys, found ", tile.query, " x ", tile.key);
}

/// One batch row: the site with the row's lengths and sorted input, and what tells rows with different patterns apart.
struct Row {
  Site site;
  std::vector<std::int64_t> input;
  std::string key;
};

Row bind(const Pattern& pattern, const Site& site, const RowBinding* binding) {
  Row row{site, {}, {}};
  if (binding == nullptr) {
    row.input.assign(site.input.begin(), site.input.end());
  } else {
    row.input = binding->input;
    row.site.query_length = binding->query_length.value_or(site.query_length);
    row.site.key_length = binding->key_length.value_or(site.key_length);
    require(row.site.query_length <= site.query_length && row.site.key_length <= site.key_length,
            "pattern: a batch row has ", row.site.query_length, " queries and ", row.site.key_length,
            " keys, the site has ", site.query_length, " and ", site.key_length);
  }
  std::sort(row.input.begin(), row.input.end());
  row.input.erase(std::unique(row.input.begin(), row.input.end()), row.input.end());
  row.key = concat(row.site.query_length, ' ', row.site.key_length, ' ');
  for (std::size_t i = 0; i < row.input.size() && pattern.needs_input(); ++i) {
    row.key += std::to_string(row.input[i]) + ',';
  }
  return row;
}

class Compiler {
 public:
  Compiler(const Pattern& pattern, BlockLayout& layout) : pattern_(pattern), layout_(layout), store_(layout) {}

  void add(Row row) {
    row.site.input = row.input;
    pattern_.check(row.site);
    for (std::int64_t head = 0; head < layout_.heads; ++head) {
      row.site.head = head;
      const Context context(row.site);
      const std::string text = Printer(context).node(pattern_.root()).take();
      const auto [entry, is_new] = groups_.emplace(row.key + text, static_cast<std::int32_t>(layout_.groups));
      if (is_new) {
        compile_group(context);
      }
      layout_.group.push_back(entry->second);
    }
  }

 private:
  void compile_group(const Context& context) {
    const std::int64_t rows = layout_.query_blocks();
    require((layout_.groups + 1) * rows <= kMaximumRows, "pattern: ", layout_.groups + 1, " groups of ", rows,
            " query blocks are more than ", kMaximumRows, " rows");
    require(layout_.key_blocks() <= std::numeric_limits<std::int32_t>::max(), "pattern: ", layout_.key_length,
            " keys are too many for tiles of ", layout_.tile.key);
    ++layout_.groups;
    layout_.group_edges.push_back(RowCompiler(pattern_.root().resolved(context), context, layout_, store_).run());
  }

  const Pattern& pattern_;
  BlockLayout& layout_;
  TileStore store_;
  std::unordered_map<std::string, std::int32_t> groups_;
};

}  // namespace

BlockLayout compile(const Pattern& pattern, const Site& site, Tile tile, std::span<const RowBinding> rows) {
  Site whole = site;
  whole.head = 0;
  BlockLayout layout;
  check_tile(tile);
  layout.tile = tile;
  layout.query_length = site.query_length;
  layout.key_length = site.key_length;
  layout.query_offset = site.query_offset;
  layout.heads = site.heads;
  layout.batch = rows.empty() ? 1 : static_cast<std::int64_t>(rows.size());
  layout.row_begin.push_back(0);
  Compiler compiler(pattern, layout);
  if (rows.empty()) {
    compiler.add(bind(pattern, whole, nullptr));
  }
  for (const RowBinding& row : rows) {
    compiler.add(bind(pattern, whole, &row));
  }
  layout.key_block.shrink_to_fit();
  layout.kind.shrink_to_fit();
  return layout;
}

}  // namespace weft::pattern
