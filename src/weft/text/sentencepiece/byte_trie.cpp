// SPDX-License-Identifier: Apache-2.0
// Built level by level from sorted strings: the strings below a node are a range of them.
#include "weft/text/sentencepiece/byte_trie.h"

#include <algorithm>

namespace weft::text {

ByteTrie::ByteTrie(std::vector<std::pair<std::string_view, std::int32_t>> keys) {
  std::sort(keys.begin(), keys.end());
  struct Range {
    std::size_t begin;
    std::size_t end;
  };
  std::vector<Range> level = {{0, keys.size()}};
  labels_.push_back(0);
  for (std::size_t depth = 0; !level.empty(); ++depth) {
    std::vector<Range> next;
    for (auto [begin, end] : level) {
      const bool ends_here = begin < end && keys[begin].first.size() == depth;
      values_.push_back(ends_here ? keys[begin++].second : -1);
      first_child_.push_back(static_cast<Node>(labels_.size()));
      while (begin < end) {
        const char label = keys[begin].first[depth];
        const auto behind = std::find_if(keys.begin() + static_cast<std::ptrdiff_t>(begin),
                                         keys.begin() + static_cast<std::ptrdiff_t>(end),
                                         [&](const auto& key) { return key.first[depth] != label; });
        const auto stop = static_cast<std::size_t>(behind - keys.begin());
        next.push_back({begin, stop});
        labels_.push_back(static_cast<unsigned char>(label));
        begin = stop;
      }
    }
    level = std::move(next);
  }
  first_child_.push_back(static_cast<Node>(labels_.size()));
  root_.fill(kNone);
  for (Node node = first_child_[kRoot]; node < first_child_[kRoot + 1]; ++node) {
    root_[labels_[node]] = node;
  }
}

ByteTrie::Node ByteTrie::child(Node node, char byte) const {
  const auto label = static_cast<unsigned char>(byte);
  if (node == kRoot) {
    return root_[label];
  }
  const auto begin = labels_.begin() + first_child_[node];
  const auto end = labels_.begin() + first_child_[node + 1];
  const auto found = std::lower_bound(begin, end, label);
  return found != end && *found == label ? static_cast<Node>(found - labels_.begin()) : kNone;
}

std::size_t ByteTrie::longest_prefix(std::string_view text) const {
  std::size_t longest = 0;
  Node node = kRoot;
  for (std::size_t i = 0; i < text.size(); ++i) {
    node = child(node, text[i]);
    if (node == kNone) {
      break;
    }
    longest = value(node) >= 0 ? i + 1 : longest;
  }
  return longest;
}

}  // namespace weft::text
