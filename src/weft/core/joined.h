// SPDX-License-Identifier: Apache-2.0
// Lists in messages and tables.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>

namespace weft {

/// text(item) of each item, in their order, with `between` between them.
template <typename Items, typename Text>
std::string joined(const Items& items, std::string_view between, const Text& text) {
  std::string result;
  bool first = true;
  for (const auto& item : items) {
    if (!first) {
      result += between;
    }
    first = false;
    result += text(item);
  }
  return result;
}

/// Items that are texts themselves.
template <typename Items>
std::string joined(const Items& items, std::string_view between) {
  return joined(items, between, std::identity());
}

/// Texts of which one is meant: "a", "a or b", "a, b or c".
template <typename Texts>
std::string alternatives(const Texts& texts) {
  std::string result;
  std::size_t left = std::size(texts);
  for (const auto& text : texts) {
    result += text;
    result += --left > 1 ? ", " : (left == 1 ? " or " : "");
  }
  return result;
}

}  // namespace weft
