// SPDX-License-Identifier: Apache-2.0
// One list, the layout that was asked for last in front; a layout for another number of heads is another entry.
#include "kept_layouts.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::python {
namespace {

constexpr std::int32_t kTile = 64;

struct Entry {
  std::string name;
  attention::LayoutPtr layout;
};

class KeptLayouts {
 public:
  void limit(std::size_t most_bytes) noexcept { most_bytes_ = most_bytes; }

  void add(Entry entry) {
    bytes_ += entry.layout->blocks().bytes();
    entries_.push_front(std::move(entry));
    while (bytes_ > most_bytes_ && entries_.size() > 1) {
      bytes_ -= entries_.back().layout->blocks().bytes();
      entries_.pop_back();
    }
  }

  /// Of that many heads, else of any number; null where none has the name.
  attention::LayoutPtr find(std::string_view name, std::int64_t heads) {
    auto found = entries_.end();
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (entry->name == name) {
        found = entry;
        if (entry->layout->blocks().heads == heads) {
          break;
        }
      }
    }
    if (found == entries_.end()) {
      return nullptr;
    }
    entries_.splice(entries_.begin(), entries_, found);
    return entries_.front().layout;
  }

  std::mutex mutex;

 private:
  std::list<Entry> entries_;
  std::size_t bytes_ = 0;
  std::size_t most_bytes_ = 0;
};

KeptLayouts& kept_layouts() {
  static KeptLayouts layouts;
  return layouts;
}

// Ascending key blocks, each full or with a mask that is there.
bool is_row(const KeptBlocks& kept, std::int64_t begin, std::int64_t end) {
  const std::int64_t columns = (kept.key_length + kTile - 1) / kTile;
  const auto masks = static_cast<std::int64_t>(kept.mask_bits.size()) / kTile;
  std::int64_t before = -1;
  for (std::int64_t block = begin; block < end; ++block) {
    const std::int64_t column = kept.key_block[block];
    const std::int64_t kind = kept.kind[block];
    if (column <= before || column >= columns || kind >= masks || (kind < 0 && kind != pattern::kFullBlock)) {
      return false;
    }
    before = column;
  }
  return true;
}

bool have_sizes(const KeptBlocks& kept) {
  const std::int64_t rows = (kept.query_length + kTile - 1) / kTile;
  return kept.query_length > 0 && kept.key_length > 0 && std::cmp_equal(kept.row_begin.size(), rows + 1) &&
         kept.kind.size() == kept.key_block.size() && kept.mask_bits.size() % kTile == 0 &&
         kept.row_begin.front() == 0 && std::cmp_equal(kept.row_begin.back(), kept.key_block.size()) &&
         std::is_sorted(kept.row_begin.begin(), kept.row_begin.end());
}

void check_blocks(const KeptBlocks& kept) {
  bool fits = have_sizes(kept);
  for (std::size_t row = 0; fits && row + 1 < kept.row_begin.size(); ++row) {
    fits = is_row(kept, kept.row_begin[row], kept.row_begin[row + 1]);
  }
  require(fits, "keep_layout: these arrays are no layout of ", kept.query_length, " queries and ", kept.key_length,
          " keys in blocks of ", kTile, " x ", kTile);
}

attention::LayoutPtr layout_of_blocks(const KeptBlocks& kept) {
  pattern::BlockLayout blocks;
  blocks.tile = {kTile, kTile};
  blocks.query_length = kept.query_length;
  blocks.key_length = kept.key_length;
  blocks.groups = 1;
  blocks.group = {0};
  blocks.row_begin.assign(kept.row_begin.begin(), kept.row_begin.end());
  blocks.key_block.assign(kept.key_block.begin(), kept.key_block.end());
  blocks.kind.assign(kept.kind.begin(), kept.kind.end());
  blocks.mask_bits.assign(kept.mask_bits.begin(), kept.mask_bits.end());
  blocks.group_edges = pattern::count_group_edges(blocks);
  return std::make_shared<const attention::Layout>(std::move(blocks));
}

attention::LayoutPtr with_heads(const attention::Layout& layout, std::int64_t heads) {
  pattern::BlockLayout blocks = layout.blocks();
  blocks.heads = heads;
  blocks.group.assign(static_cast<std::size_t>(heads), 0);
  return std::make_shared<const attention::Layout>(std::move(blocks));
}

// Called with the lock held.
attention::LayoutPtr find_or_fail(std::string_view name, std::int64_t heads) {
  attention::LayoutPtr layout = kept_layouts().find(name, heads);
  require(layout != nullptr, "attend: no layout is kept as ", quote(name),
          ": it was dropped for others that came after it; compute the backward pass of a mask before the next forward "
          "passes, or leave torch.compile out, since without it a dropped mask is made again");
  return layout;
}

}  // namespace

void keep_layout(const std::string& name, const KeptBlocks& kept, std::size_t most_bytes) {
  {
    const std::lock_guard lock(kept_layouts().mutex);
    kept_layouts().limit(most_bytes);
    if (kept_layouts().find(name, 1) != nullptr) {
      return;
    }
  }
  check_blocks(kept);
  attention::LayoutPtr layout = layout_of_blocks(kept);
  const std::lock_guard lock(kept_layouts().mutex);
  if (kept_layouts().find(name, 1) == nullptr) {
    kept_layouts().add({name, std::move(layout)});
  }
}

attention::LayoutPtr kept_layout(std::string_view name, const pattern::Site& site) {
  const std::lock_guard lock(kept_layouts().mutex);
  attention::LayoutPtr layout = find_or_fail(name, site.heads);
  const pattern::BlockLayout& blocks = layout->blocks();
  require(blocks.query_length == site.query_length && blocks.key_length == site.key_length,
          "attend: the kept layout has ", blocks.query_length, " queries and ", blocks.key_length,
          " keys, but the call has ", site.query_length, " and ", site.key_length);
  if (blocks.heads != site.heads) {
    layout = with_heads(*layout, site.heads);
    kept_layouts().add({std::string(name), layout});
  }
  return layout;
}

bool is_kept(std::string_view name) {
  const std::lock_guard lock(kept_layouts().mutex);
  return kept_layouts().find(name, 1) != nullptr;
}

attention::LayoutPtr kept_layout(std::string_view name) {
  const std::lock_guard lock(kept_layouts().mutex);
  return find_or_fail(name, 1);
}

}  // namespace weft::python
