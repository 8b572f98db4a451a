// SPDX-License-Identifier: Apache-2.0
// The parts of a layout that are made when first asked for: its transpose, what backends keep with it, and whether it
// is dense attention in disguise.
#include "weft/attention/layout.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "weft/core/error.h"

namespace weft::attention {
namespace {

using pattern::BlockLayout;

bool has_edges_in_every_group(const BlockLayout& layout, std::int64_t edges) {
  const bool weighted = std::any_of(layout.kind.begin(), layout.kind.end(), pattern::is_weighted);
  return !weighted && std::all_of(layout.group_edges.begin(), layout.group_edges.end(),
                                  [edges](std::int64_t found) { return found == edges; });
}

bool computes_full(const BlockLayout& layout) {
  return has_edges_in_every_group(layout, layout.query_length * layout.key_length);
}

// Whether no edge of the block leads to a later position.
bool stays_causal(const BlockLayout& layout, std::int64_t query_block, std::size_t block) {
  const std::int64_t first_query = query_block * layout.tile.query;
  const std::int64_t first_key = std::int64_t{layout.key_block[block]} * layout.tile.key;
  const std::int64_t last_key = std::min(first_key + layout.tile.key, layout.key_length) - 1;
  if (last_key <= first_query || !pattern::is_partial(layout.kind[block])) {
    return last_key <= first_query;
  }
  const pattern::LayoutView view = layout.view();
  const std::uint64_t* bits = view.mask(layout.kind[block]);
  const std::int64_t queries = std::min<std::int64_t>(layout.tile.query, layout.query_length - first_query);
  for (std::int64_t query = 0; query < queries; ++query) {
    for (std::int64_t key = std::max<std::int64_t>(0, first_query + query + 1 - first_key); key <= last_key - first_key;
         ++key) {
      if ((bits[query * view.words() + key / 64] >> (key % 64)) & 1) {
        return false;
      }
    }
  }
  return true;
}

// As many edges as the causal triangle has, none of them outside it.
bool computes_causal(const BlockLayout& layout) {
  if (layout.query_length != layout.key_length || layout.query_offset != 0 ||
      !has_edges_in_every_group(layout, layout.query_length * (layout.query_length + 1) / 2)) {
    return false;
  }
  for (std::int64_t row = 0; row + 1 < static_cast<std::int64_t>(layout.row_begin.size()); ++row) {
    const std::size_t at = static_cast<std::size_t>(row);
    for (std::int64_t block = layout.row_begin[at]; block < layout.row_begin[at + 1]; ++block) {
      if (!stays_causal(layout, row % layout.query_blocks(), static_cast<std::size_t>(block))) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

struct Layout::Lazy {
  std::once_flag transpose_once;
  pattern::LayoutTranspose transpose;
  std::mutex kept_mutex;
  std::map<std::type_index, std::shared_ptr<const void>> kept;
  std::once_flag dense_once;
  bool full = false;
  bool causal = false;
};

Layout::Layout(BlockLayout blocks, std::string expression)
    : blocks_(std::move(blocks)), expression_(std::move(expression)), lazy_(std::make_shared<Lazy>()) {}

const pattern::LayoutTranspose& Layout::transpose() const {
  std::call_once(lazy_->transpose_once, [this] { lazy_->transpose = pattern::transpose(blocks_); });
  return lazy_->transpose;
}

const void* Layout::kept_of(std::type_index type, const MakeAny& make) const {
  const std::scoped_lock lock(lazy_->kept_mutex);
  std::shared_ptr<const void>& kept = lazy_->kept[type];
  if (kept == nullptr) {
    kept = make(blocks_);
  }
  return kept.get();
}

bool Layout::is_full() const {
  is_causal();
  return lazy_->full;
}

bool Layout::is_causal() const {
  std::call_once(lazy_->dense_once, [this] {
    lazy_->full = computes_full(blocks_);
    lazy_->causal = computes_causal(blocks_);
  });
  return lazy_->causal;
}

void Layout::check(std::int64_t batch, std::int64_t heads, std::int64_t query_length, std::int64_t key_length) const {
  const std::string name = expression_.empty() ? "" : concat(" of `", expression_, "`");
  require(query_length == blocks_.query_length && key_length == blocks_.key_length, "the layout", name,
          " was made for ", blocks_.query_length, " queries and ", blocks_.key_length, " keys, but the tensors have ",
          query_length, " queries and ", key_length, " keys");
  require(heads == blocks_.heads, "the layout", name, " was made for ", blocks_.heads, " heads, but query has ", heads);
  require(blocks_.batch == 1 || batch == blocks_.batch, "the layout", name, " was made for ", blocks_.batch,
          " batch rows, but the tensors have ", batch);
}

}  // namespace weft::attention
