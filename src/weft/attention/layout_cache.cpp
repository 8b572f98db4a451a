// SPDX-License-Identifier: Apache-2.0
// The least-recently-used caches of compiled layouts: a model compiles a pattern once for each length, and not once for
// each layer and call. A decoded token's row is asked for by every layer and never again, so that such rows are kept
// apart: they would push out what is in use.
#include <algorithm>
#include <functional>
#include <list>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/attention/layout.h"
#include "weft/pattern/syntax.h"

namespace weft::attention {
namespace {

// What tells layouts apart, for the time of a call.
struct Question {
  std::string_view expression;  // names expanded: equal text is equal edges
  const pattern::Site& site;
  std::int64_t layer;  // -1 where the pattern is the same on every layer
  pattern::Tile tile;
  std::span<const pattern::RowBinding> rows;
};

bool equal_rows(const pattern::RowBinding& a, const pattern::RowBinding& b) {
  return a.query_length == b.query_length && a.key_length == b.key_length && a.input == b.input;
}

class Digest {
 public:
  void add(std::int64_t number) noexcept {
    value_ = (value_ ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15;
    value_ ^= value_ >> 32;
  }
  template <typename Numbers>
  void add_all(const Numbers& numbers) noexcept {
    add(static_cast<std::int64_t>(numbers.size()));
    for (const std::int64_t number : numbers) {
      add(number);
    }
  }
  std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0;
};

std::uint64_t digest_of(const Question& asked) {
  const pattern::Site& site = asked.site;
  Digest digest;
  digest.add(static_cast<std::int64_t>(std::hash<std::string_view>()(asked.expression)));
  for (const std::int64_t number :
       {site.query_length, site.key_length, site.query_offset, site.heads, asked.layer, site.maximum_length,
        std::int64_t{asked.tile.query}, std::int64_t{asked.tile.key}}) {
    digest.add(number);
  }
  digest.add_all(site.input);
  for (const pattern::RowBinding& row : asked.rows) {
    digest.add(row.query_length.value_or(-1));
    digest.add(row.key_length.value_or(-1));
    digest.add_all(row.input);
  }
  return digest.value();
}

// A question that outlives its call.
class Key {
 public:
  explicit Key(const Question& asked)
      : digest_(digest_of(asked)),
        expression_(asked.expression),
        site_(asked.site),
        input_(asked.site.input.begin(), asked.site.input.end()),
        layer_(asked.layer),
        tile_(asked.tile),
        rows_(asked.rows.begin(), asked.rows.end()) {}

  bool answers(const Question& asked, std::uint64_t digest) const {
    const pattern::Site& site = asked.site;
    return digest_ == digest && expression_ == asked.expression && site_.query_length == site.query_length &&
           site_.key_length == site.key_length && site_.query_offset == site.query_offset &&
           site_.heads == site.heads && layer_ == asked.layer && site_.maximum_length == site.maximum_length &&
           tile_ == asked.tile && std::equal(input_.begin(), input_.end(), site.input.begin(), site.input.end()) &&
           std::equal(rows_.begin(), rows_.end(), asked.rows.begin(), asked.rows.end(), equal_rows);
  }

 private:
  std::uint64_t digest_;
  std::string expression_;
  pattern::Site site_;  // its input is not looked at
  std::vector<std::int64_t> input_;
  std::int64_t layer_;
  pattern::Tile tile_;
  std::vector<pattern::RowBinding> rows_;
};

class LayoutCache {
 public:
  LayoutCache(std::size_t layouts, std::size_t bytes) : most_layouts_(layouts), most_bytes_(bytes) {}

  LayoutPtr find(const Question& asked) {
    const std::uint64_t digest = digest_of(asked);
    const std::lock_guard lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (entry->key.answers(asked, digest)) {
        entries_.splice(entries_.begin(), entries_, entry);
        return entry->layout;
      }
    }
    return nullptr;
  }

  void insert(const Question& asked, const LayoutPtr& layout) {
    Key key(asked);
    const std::lock_guard lock(mutex_);
    bytes_ += layout->blocks().bytes();
    entries_.push_front({std::move(key), layout});
    while (entries_.size() > 1 && (entries_.size() > most_layouts_ || bytes_ > most_bytes_)) {
      bytes_ -= entries_.back().layout->blocks().bytes();
      entries_.pop_back();
    }
  }

 private:
  struct Entry {
    Key key;
    LayoutPtr layout;
  };
  std::size_t most_layouts_;
  std::size_t most_bytes_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the most recently used first
  std::size_t bytes_ = 0;
};

LayoutCache& cache_for(const pattern::Site& site) {
  static LayoutCache layouts(64, std::size_t{256} << 20);
  static LayoutCache rows(16, std::size_t{16} << 20);
  return site.query_length == 1 ? rows : layouts;
}

}  // namespace

LayoutPtr cached_layout(const pattern::Pattern& pattern, const pattern::Site& site, pattern::Tile tile,
                        std::span<const pattern::RowBinding> rows) {
  // Pattern::expanded() and Pattern::depends_on_layer() in one walk, because every layer asks for every token.
  pattern::Printer printer(pattern::Printer::Names::kExpanded);
  const bool depends_on_layer = printer.node(pattern.root()).depends_on_layer();
  const std::string expression = printer.take();
  const Question asked{expression, site, depends_on_layer ? site.layer : -1, tile, rows};
  LayoutCache& cache = cache_for(site);
  if (LayoutPtr found = cache.find(asked)) {
    return found;
  }
  // Compiled outside the lock: two threads that miss at once do the work twice, and keep both.
  auto layout = std::make_shared<const Layout>(pattern::compile(pattern, site, tile, rows), pattern.to_string());
  cache.insert(asked, layout);
  return layout;
}

}  // namespace weft::attention
