// SPDX-License-Identifier: Apache-2.0
// Any bytes as an expression: parsing gives a pattern or an Error; a pattern prints to text that parses to itself, and
// compiles at a small site to exactly the edges that multiplicity() names.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "weft/core/error.h"
#include "weft/pattern/language/lexer.h"
#include "weft/pattern/pattern.h"

namespace {

using weft::pattern::BlockLayout;
using weft::pattern::Pattern;
using weft::pattern::Site;

void expect(bool holds) {
  if (!holds) {
    std::abort();
  }
}

/// A small site drawn from the first bytes.
Site site_from(const std::array<std::uint8_t, 4>& bytes) {
  Site site;
  site.query_length = bytes[0] % 40;
  site.key_length = bytes[1] % 40;
  site.query_offset = bytes[2] % 3 * 4;
  site.heads = 1 + bytes[2] % 4;
  site.layer = bytes[3] % 8;
  return site;
}

void compare(const Pattern& pattern, const Site& site, const BlockLayout& layout) {
  std::int64_t edges = 0;
  for (Site head = site; head.head < head.heads; ++head.head) {
    for (std::int64_t query = 0; query < site.query_length; ++query) {
      for (std::int64_t key = 0; key < site.key_length; ++key) {
        edges += pattern.multiplicity(head, query, key) > 0 ? 1 : 0;
      }
    }
  }
  expect(edges == layout.edges());
  expect(transpose(layout).block.size() == layout.key_block.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::array<std::uint8_t, 4> bytes{};
  if (size < bytes.size()) {
    return 0;
  }
  std::copy_n(data, bytes.size(), bytes.begin());
  const std::string_view text(reinterpret_cast<const char*>(data) + bytes.size(), size - bytes.size());
  try {
    const Pattern pattern = Pattern::parse(text);
    const std::string canonical = pattern.to_string();
    expect(canonical.size() > weft::pattern::kMaximumExpression || Pattern::parse(canonical).to_string() == canonical);
    const Site site = site_from(bytes);
    const BlockLayout layout = compile(pattern, site, {8, 16});
    if (size < 200) {
      compare(pattern, site, layout);
    }
  } catch (const weft::Error&) {
    return 0;
  }
  return 0;
}
