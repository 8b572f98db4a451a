// SPDX-License-Identifier: Apache-2.0
// Sorts the rows of a layout into batches: first by equal block kinds, so that one bias serves all rows; the rare ones
// are pooled by width. Runs of consecutive key blocks are split where their step changes.
#include "weft/attention/backends/blocks/row_batches.h"

#include <algorithm>
#include <map>
#include <span>

namespace weft::attention {
namespace {

using pattern::BlockLayout;

// Fewer rows than this with the same kinds do not get a batch of their own.
constexpr std::size_t kOwnBatchRows = 4;

struct Row {
  std::int64_t begin;
  std::int64_t width;
};

Row row_of(const BlockLayout& layout, std::int64_t group, std::int64_t query_block) {
  const std::size_t at = static_cast<std::size_t>(group * layout.query_blocks() + query_block);
  return {layout.row_begin[at], layout.row_begin[at + 1] - layout.row_begin[at]};
}

bool is_consecutive(const BlockLayout& layout, const Row& row) {
  const std::int32_t* keys = layout.key_block.data() + row.begin;
  return keys[row.width - 1] - keys[0] == row.width - 1;
}

bool ends_short(const BlockLayout& layout, const Row& row) {
  const std::int64_t last = layout.key_block[static_cast<std::size_t>(row.begin + row.width - 1)];
  return (last + 1) * layout.tile.key > layout.key_length;
}

// Two rows with equal signatures differ only in which blocks they name.
std::vector<std::int32_t> signature_of(const BlockLayout& layout, const Row& row) {
  const auto kinds = layout.kind.begin() + row.begin;
  std::vector<std::int32_t> signature(kinds, kinds + row.width);
  signature.push_back(is_consecutive(layout, row) ? 1 : 0);
  signature.push_back(ends_short(layout, row) ? 1 : 0);
  return signature;
}

class GroupBatcher {
 public:
  GroupBatcher(const BlockLayout& layout, std::int64_t group) : layout_(layout), group_(group) {}

  std::vector<RowBatch> row_batches() {
    std::map<std::vector<std::int32_t>, std::vector<std::int32_t>> rows_of_signature;
    for (std::int64_t query_block = 0; query_block < layout_.query_blocks(); ++query_block) {
      const Row row = row_of(layout_, group_, query_block);
      if (row.width > 0) {
        rows_of_signature[signature_of(layout_, row)].push_back(static_cast<std::int32_t>(query_block));
      }
    }
    std::map<std::pair<std::int64_t, bool>, std::vector<std::int32_t>> pools;
    for (const auto& [signature, rows] : rows_of_signature) {
      const bool consecutive = signature[signature.size() - 2] == 1;
      const std::int64_t width = static_cast<std::int64_t>(signature.size()) - 2;
      if (rows.size() >= kOwnBatchRows) {
        add(rows, consecutive, true);
      } else {
        auto& pool = pools[{width, consecutive}];
        pool.insert(pool.end(), rows.begin(), rows.end());
      }
    }
    for (auto& [key, rows] : pools) {
      std::sort(rows.begin(), rows.end());
      add(rows, key.second, false);
    }
    return std::move(batches_);
  }

 private:
  void add(const std::vector<std::int32_t>& rows, bool consecutive, bool shared_kinds) {
    if (!consecutive) {
      push(rows, shared_kinds);
      return;
    }
    for (std::size_t begin = 0; begin < rows.size();) {
      const std::size_t end = end_of_run(rows, begin);
      push(std::span(rows).subspan(begin, end - begin), shared_kinds);
      batches_.back().uniform = true;
      if (end - begin > 1) {
        batches_.back().query_step = rows[begin + 1] - rows[begin];
        batches_.back().key_step = first_key(rows[begin + 1]) - first_key(rows[begin]);
      }
      begin = end;
    }
  }

  // The longest run from `begin` at one step; a step backwards ends it, because views cannot step backwards.
  std::size_t end_of_run(const std::vector<std::int32_t>& rows, std::size_t begin) const {
    std::size_t end = begin + 1;
    if (end == rows.size()) {
      return end;
    }
    const std::int64_t query_step = rows[end] - rows[begin];
    const std::int64_t key_step = first_key(rows[end]) - first_key(rows[begin]);
    while (key_step >= 0 && end < rows.size() && rows[end] - rows[end - 1] == query_step &&
           first_key(rows[end]) - first_key(rows[end - 1]) == key_step) {
      ++end;
    }
    return end;
  }

  void push(std::span<const std::int32_t> rows, bool shared_kinds) {
    RowBatch batch;
    batch.width = row_of(layout_, group_, rows.front()).width;
    batch.query_blocks.assign(rows.begin(), rows.end());
    batch.shared_kinds = shared_kinds || rows.size() == 1;
    for (const std::int32_t query_block : rows) {
      const Row row = row_of(layout_, group_, query_block);
      const auto kinds = layout_.kind.begin() + row.begin;
      batch.query_bias |= !std::all_of(kinds, kinds + row.width, pattern::is_full);
      batch.has_bias |= batch.query_bias || ends_short(layout_, row);
    }
    batches_.push_back(std::move(batch));
  }

  std::int64_t first_key(std::int32_t query_block) const {
    return layout_.key_block[static_cast<std::size_t>(row_of(layout_, group_, query_block).begin)];
  }

  const BlockLayout& layout_;
  std::int64_t group_;
  std::vector<RowBatch> batches_;
};

}  // namespace

RowBatches row_batches_of(const BlockLayout& layout) {
  RowBatches batches;
  for (std::int64_t group = 0; group < layout.groups; ++group) {
    batches.groups.push_back(GroupBatcher(layout, group).row_batches());
  }
  return batches;
}

}  // namespace weft::attention
