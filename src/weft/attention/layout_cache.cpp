// SPDX-License-Identifier: Apache-2.0
// The least-recently-used cache of compiled layouts, so that a model compiles a pattern once for each length and not
// once for each layer and call.
#include <list>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "weft/attention/layout.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

constexpr std::size_t kMaximumLayouts = 64;
constexpr std::size_t kMaximumBytes = std::size_t{256} << 20;

class LayoutCache {
 public:
  LayoutPtr find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = index_.find(key);
    if (found == index_.end()) {
      return nullptr;
    }
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->layout;
  }

  void insert(const std::string& key, LayoutPtr layout) {
    const std::lock_guard lock(mutex_);
    if (index_.contains(key)) {
      return;
    }
    bytes_ += layout->blocks().bytes();
    entries_.push_front({key, std::move(layout)});
    index_[key] = entries_.begin();
    while (entries_.size() > 1 && (entries_.size() > kMaximumLayouts || bytes_ > kMaximumBytes)) {
      bytes_ -= entries_.back().layout->blocks().bytes();
      index_.erase(entries_.back().key);
      entries_.pop_back();
    }
  }

 private:
  struct Entry {
    std::string key;
    LayoutPtr layout;
  };
  std::mutex mutex_;
  std::list<Entry> entries_;  // the most recently used first
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
  std::size_t bytes_ = 0;
};

LayoutCache& cache() {
  static LayoutCache instance;
  return instance;
}

void append_row(std::ostream& key, const pattern::RowBinding& row) {
  key << '|' << row.query_length.value_or(-1) << ',' << row.key_length.value_or(-1) << ':';
  for (const std::int64_t position : row.input) {
    key << position << ',';
  }
}

// `expression` has its names expanded: one that does not name `layer` means the same on every layer, but `bigbird`
// does.
std::string key_of(const std::string& expression, const pattern::Site& site, pattern::Tile tile,
                   std::span<const pattern::RowBinding> rows) {
  const bool names_layer = expression.find("layer") != std::string::npos;
  std::ostringstream key;
  key << expression << '@' << site.query_length << ',' << site.key_length << ',' << site.query_offset << ','
      << site.heads << ',' << (names_layer ? site.layer : -1) << ',' << site.maximum_length << ',' << tile.query << ','
      << tile.key << ':';
  for (const std::int64_t position : site.input) {
    key << position << ',';
  }
  for (const pattern::RowBinding& row : rows) {
    append_row(key, row);
  }
  return std::move(key).str();
}

}  // namespace

LayoutPtr cached_layout(const pattern::Pattern& pattern, const pattern::Site& site, pattern::Tile tile,
                        std::span<const pattern::RowBinding> rows) {
  const std::string key = key_of(pattern.expanded(), site, tile, rows);
  if (LayoutPtr found = cache().find(key)) {
    return found;
  }
  // Compiled outside the lock: two threads that miss at once do the work twice, and one result stays.
  auto layout = std::make_shared<const Layout>(pattern::compile(pattern, site, tile, rows), pattern.to_string());
  cache().insert(key, layout);
  return layout;
}

}  // namespace weft::attention
