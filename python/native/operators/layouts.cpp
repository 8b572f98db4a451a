// SPDX-License-Identifier: Apache-2.0
// A model has few expressions: the cache of parsed ones is emptied where somebody makes very many.
#include "layouts.h"

#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "kept_layouts.h"
#include "weft/core/error.h"

namespace weft::python {
namespace {

constexpr std::size_t kMostPatterns = 256;
constexpr std::int64_t kFewQueries = 8;  // have a tile of one row: a decoder's step

class Patterns {
 public:
  pattern::Pattern find(const std::string& expression) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = patterns_.find(expression);
      if (found != patterns_.end()) {
        return found->second;
      }
    }
    pattern::Pattern pattern = pattern::Pattern::parse(expression);
    require(!pattern.needs_input(), "attend: `", expression,
            "` names input, whose positions this operator is not given; write them as global(0, 17)");
    if (pattern.files().empty()) {  // a file may be another one tomorrow
      const std::lock_guard lock(mutex_);
      if (patterns_.size() >= kMostPatterns) {
        patterns_.clear();
      }
      patterns_.emplace(expression, pattern);
    }
    return pattern;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, pattern::Pattern> patterns_;
};

// The few that a thread asked for last, as long as a cache has them: the layers of a model ask for the same, and short
// calls would take longer to find it than to compute.
class RecentLayouts {
 public:
  attention::LayoutPtr find(const std::string& expression, const pattern::Site& site) const {
    for (const Entry& entry : entries_) {
      if (entry.site.query_length == site.query_length && entry.site.key_length == site.key_length &&
          entry.site.query_offset == site.query_offset && entry.site.heads == site.heads &&
          entry.site.layer == site.layer && entry.expression == expression) {
        if (attention::LayoutPtr layout = entry.layout.lock()) {
          return layout;
        }
      }
    }
    return nullptr;
  }

  void add(const std::string& expression, const pattern::Site& site, const attention::LayoutPtr& layout) {
    entries_[oldest_] = {expression, site, layout};
    oldest_ = (oldest_ + 1) % entries_.size();
  }

 private:
  struct Entry {
    std::string expression;
    pattern::Site site;  // without positions of `input`
    std::weak_ptr<const attention::Layout> layout;
  };
  std::array<Entry, 4> entries_;
  std::size_t oldest_ = 0;
};

}  // namespace

attention::LayoutPtr layout_of(const std::string& expression, const pattern::Site& site) {
  if (expression.starts_with(kKept)) {
    return kept_layout(std::string_view(expression).substr(kKept.size()), site);
  }
  thread_local RecentLayouts recent;
  if (attention::LayoutPtr found = recent.find(expression, site)) {
    return found;
  }
  static Patterns patterns;
  const pattern::Tile tile{site.query_length <= kFewQueries ? 1 : 64, 64};
  const pattern::Pattern pattern = patterns.find(expression);
  attention::LayoutPtr layout = attention::cached_layout(pattern, site, tile);
  if (pattern.files().empty()) {
    recent.add(expression, site, layout);
  }
  return layout;
}

}  // namespace weft::python
