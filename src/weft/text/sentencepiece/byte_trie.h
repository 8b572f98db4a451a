// SPDX-License-Identifier: Apache-2.0
// A set of byte strings that is walked one byte at a time, so that all strings that begin at a place of a text are
// found in one pass.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::text {

class ByteTrie {
 public:
  using Node = std::uint32_t;
  static constexpr Node kRoot = 0;
  static constexpr Node kNone = UINT32_MAX;

  ByteTrie() : ByteTrie(std::vector<std::pair<std::string_view, std::int32_t>>{}) {}
  /// Different strings, none empty, each with a value of at least 0. The strings are not needed afterwards.
  explicit ByteTrie(std::vector<std::pair<std::string_view, std::int32_t>> keys);

  /// The node behind `byte`, or kNone when no string goes on like this.
  Node child(Node node, char byte) const;
  /// The value of the string that ends at `node`, or -1.
  std::int32_t value(Node node) const { return values_[node]; }
  bool empty() const noexcept { return labels_.size() == 1; }
  /// Bytes of the longest string that `text` begins with; 0 when there is none.
  std::size_t longest_prefix(std::string_view text) const;

 private:
  // Nodes in breadth-first order: the children of `node` are first_child_[node] up to first_child_[node + 1].
  std::vector<Node> first_child_;
  std::vector<std::int32_t> values_;
  std::vector<unsigned char> labels_;
  std::array<Node, 256> root_;  // most walks end here
};

}  // namespace weft::text
