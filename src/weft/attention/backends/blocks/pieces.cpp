// SPDX-License-Identifier: Apache-2.0
// Pieces are made in a fixed order that depends on the shapes alone, so that sums over pieces are the same in every
// run.
#include "weft/attention/backends/blocks/pieces.h"

#include <algorithm>

namespace weft::attention {
namespace {

std::vector<HeadRun> head_runs(const pattern::BlockLayout& layout, const PieceLimits& limits) {
  std::vector<HeadRun> runs;
  for (std::int64_t head = 0; head < limits.batch * layout.heads; ++head) {
    const std::int64_t group = layout.view().group_of(head / layout.heads, head % layout.heads);
    const bool new_batch = limits.split_batches && head % layout.heads == 0;
    if (runs.empty() || runs.back().group != group || new_batch) {
      runs.push_back({group, head, head});
    }
    runs.back().end = head + 1;
  }
  return runs;
}

class PieceMaker {
 public:
  PieceMaker(const pattern::BlockLayout& layout, const PieceLimits& limits) : layout_(layout), limits_(limits) {}

  void add(const RowBatch& rows, const HeadRun& run) {
    const bool merged = rows.mergeable() && rows.rows() > 1;
    const std::int64_t heads = std::clamp<std::int64_t>(limits_.elements / cost(rows, 1, merged), 1, run.count());
    std::int64_t count = rows.rows();
    while (count > 1 && heads * cost(rows, count, merged) > limits_.elements) {
      count = (count + 1) / 2;
    }
    for (std::int64_t head = run.begin; head < run.end; head += heads) {
      const HeadRun some{run.group, head, std::min(run.end, head + heads)};
      for (std::int64_t first = 0; first < rows.rows(); first += count) {
        pieces_.push_back({&layout_, &rows, some, first, std::min(count, rows.rows() - first), merged});
      }
    }
  }

  std::vector<Piece> take() { return std::move(pieces_); }

 private:
  // Elements of workspace that one head of a piece takes.
  std::int64_t cost(const RowBatch& rows, std::int64_t count, bool merged) const {
    const std::int64_t keys = rows.width * layout_.tile.key;
    const std::int64_t scores = 3 * layout_.tile.query * keys * count;
    return keys * limits_.columns * (merged ? 1 : count) + scores;
  }

  const pattern::BlockLayout& layout_;
  const PieceLimits& limits_;
  std::vector<Piece> pieces_;
};

}  // namespace

std::vector<Piece> make_pieces(const pattern::BlockLayout& layout, const RowBatches& batches,
                               const PieceLimits& limits) {
  PieceMaker maker(layout, limits);
  for (const HeadRun& run : head_runs(layout, limits)) {
    for (const RowBatch& rows : batches.groups[static_cast<std::size_t>(run.group)]) {
      maker.add(rows, run);
    }
  }
  return maker.take();
}

}  // namespace weft::attention
