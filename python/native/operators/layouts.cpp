// SPDX-License-Identifier: Apache-2.0
// A model has few expressions: the cache of parsed ones is emptied where somebody makes very many.
#include "layouts.h"

#include <mutex>
#include <unordered_map>

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

}  // namespace

attention::LayoutPtr layout_of(const std::string& expression, const pattern::Site& site) {
  if (expression.starts_with(kKept)) {
    return kept_layout(std::string_view(expression).substr(kKept.size()), site);
  }
  static Patterns patterns;
  const pattern::Tile tile{site.query_length <= kFewQueries ? 1 : 64, 64};
  return attention::cached_layout(patterns.find(expression), site, tile);
}

}  // namespace weft::python
