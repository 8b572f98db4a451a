// SPDX-License-Identifier: Apache-2.0
// Darts-clone's search has no bounds checks; the check here makes every index that it can form safe, once.
#include "weft/text/sentencepiece/character_map.h"

#include <algorithm>
#include <cstring>

#include "weft/text/sentencepiece/model.h"

namespace weft::text {
namespace {

constexpr std::uint32_t kIsValue = 1U << 31;
constexpr std::uint32_t kHasValue = 1U << 8;

// Units of a double array: `label` in the low byte, bit 31 marks a value, bit 8 says that a value hangs below.
class DoubleArray {
 public:
  explicit DoubleArray(std::string_view bytes) : bytes_(bytes) {}
  std::size_t size() const { return bytes_.size() / sizeof(std::uint32_t); }
  std::uint32_t unit(std::size_t index) const {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes_.data() + index * sizeof(value), sizeof(value));
    return value;
  }
  /// Where the children of `index` are, up to their labels.
  std::size_t base(std::size_t index) const {
    const std::uint32_t unit_value = unit(index);
    return index ^ static_cast<std::size_t>((unit_value >> 10) << ((unit_value & (1U << 9)) >> 6));
  }

 private:
  std::string_view bytes_;
};

// Bytes of the trie, which the map begins with.
std::uint32_t trie_size(std::string_view map) {
  std::uint32_t size = 0;
  std::memcpy(&size, map.data(), sizeof(size));
  return size;
}

void check_texts(std::string_view texts, std::string_view where) {
  if (texts.back() != '\0') {
    reject_model(where, "the character map's last text has no end");
  }
  for (std::size_t begin = 0; begin < texts.size();) {
    const std::size_t end = texts.find('\0', begin);
    if (end - begin > kLongestReplacement) {
      reject_model(where, "the character map has a text of ", end - begin, " bytes, more than ", kLongestReplacement);
    }
    begin = end + 1;
  }
}

}  // namespace

void check_character_map(std::string_view map, std::string_view where) {
  if (map.empty()) {
    return;
  }
  if (map.size() <= sizeof(std::uint32_t)) {
    reject_model(where, "the character map has only ", map.size(), " bytes");
  }
  const std::uint32_t trie_bytes = trie_size(map);
  map.remove_prefix(sizeof(trie_bytes));
  if (trie_bytes == 0 || trie_bytes >= map.size() || trie_bytes % (256 * sizeof(std::uint32_t)) != 0) {
    reject_model(where, "the character map's trie has ", trie_bytes, " bytes of ", map.size(), ", which cannot be");
  }
  const std::string_view texts = map.substr(trie_bytes);
  check_texts(texts, where);
  const DoubleArray trie(map.substr(0, trie_bytes));
  for (std::size_t i = 0; i < trie.size(); ++i) {
    const std::uint32_t unit = trie.unit(i);
    if (i > 0 && (unit & kIsValue) != 0) {  // no search walks on from a value, but every one starts at unit 0
      continue;
    }
    const std::size_t base = trie.base(i);
    const bool outside = (base | 0xFF) >= trie.size();
    if (outside || ((unit & kHasValue) != 0 && (trie.unit(base) & ~kIsValue) >= texts.size())) {
      reject_model(where, "unit ", i, " of the character map points outside of it");
    }
  }
}

CharacterMap::CharacterMap(std::string_view map) {
  if (!map.empty()) {
    const std::size_t size = trie_size(map);
    trie_ = map.substr(sizeof(std::uint32_t), size);
    texts_ = map.substr(sizeof(std::uint32_t) + size);
  }
}

std::optional<CharacterMap::Replacement> CharacterMap::find(std::string_view text) const {
  std::optional<Replacement> longest;
  if (trie_.empty()) {
    return longest;
  }
  const DoubleArray trie(trie_);
  std::size_t node = trie.base(0);
  const std::size_t most = std::min(text.size(), kLongestReplaced);
  for (std::size_t i = 0; i < most; ++i) {
    const auto label = static_cast<unsigned char>(text[i]);
    node ^= label;
    const std::uint32_t unit = trie.unit(node);
    if ((unit & (kIsValue | 0xFF)) != label) {
      break;
    }
    const std::size_t base = trie.base(node);
    if ((unit & kHasValue) != 0) {
      longest = {i + 1, texts_.data() + (trie.unit(base) & ~kIsValue)};
    }
    node = base;
  }
  return longest;
}

}  // namespace weft::text
