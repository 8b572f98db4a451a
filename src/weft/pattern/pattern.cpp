// SPDX-License-Identifier: Apache-2.0
// Pattern: the value that callers hold, and the checks between it and a site.
#include "weft/pattern/pattern.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/pattern/build.h"

namespace weft::pattern {
namespace {

constexpr std::int64_t kMaximumLength = std::int64_t{1} << 40;
constexpr std::int64_t kMaximumHeads = std::int64_t{1} << 16;

void check_range(const char* what, std::int64_t value, std::int64_t minimum, std::int64_t maximum) {
  require(value >= minimum && value <= maximum, "pattern: ", what, " must be in [", minimum, ", ", maximum, "], found ",
          value);
}

void check_input(const Site& site) {
  const std::int64_t end = std::max(site.key_length, site.query_offset + site.query_length);
  for (std::size_t i = 0; i < site.input.size(); ++i) {
    const std::int64_t position = site.input[i];
    require(position >= 0 && position < end, "pattern: a position bound to `input` must be in [0, ", end, "), found ",
            position);
    require(i == 0 || site.input[i - 1] <= position, "pattern: the positions bound to `input` must ascend, found ",
            position, " after ", i == 0 ? 0 : site.input[i - 1]);
  }
}

}  // namespace

Pattern Pattern::parse(std::string_view expression, const std::filesystem::path& directory) {
  return Pattern(parse_node(expression, directory));
}

std::string Pattern::to_string() const { return pattern::to_string(*root_); }

std::string Pattern::expanded() const { return Printer(Printer::Names::kExpanded).node(*root_).take(); }

bool Pattern::needs_input() const {
  return any_node(*root_, [](const Node& node) { return node.uses_input(); });
}

bool Pattern::depends_on_layer() const { return Printer(Printer::Names::kExpanded).node(*root_).depends_on_layer(); }

std::vector<PatternFile> Pattern::files() const {
  std::vector<PatternFile> files;
  any_node(*root_, [&](const Node& node) {
    const std::string_view name = node.file_name();
    const bool known = std::any_of(files.begin(), files.end(), [&](const auto& file) { return file.name == name; });
    if (!name.empty() && !known) {
      files.push_back({std::string(name), node.file_content()});
    }
    return false;
  });
  return files;
}

void Pattern::check(const Site& site) const {
  check_range("the query length", site.query_length, 0, kMaximumLength);
  check_range("the key length", site.key_length, 0, kMaximumLength);
  check_range("the query offset", site.query_offset, 0, kMaximumLength);
  check_range("the number of heads", site.heads, 1, kMaximumHeads);
  check_range("the head", site.head, 0, site.heads - 1);
  check_range("the layer", site.layer, 0, kMaximumLength);
  if (needs_input()) {
    check_input(site);
  }
  root_->check(Context(site));
}

int Pattern::multiplicity(const Site& site, std::int64_t query, std::int64_t key) const {
  check(site);
  require(query >= 0 && query < site.query_length, "pattern: query ", query, " is outside [0, ", site.query_length,
          ")");
  require(key >= 0 && key < site.key_length, "pattern: key ", key, " is outside [0, ", site.key_length, ")");
  return root_->multiplicity(Context(site), query + site.query_offset, key);
}

EdgeKind edge_kind(const Pattern& pattern, const Site& site, std::int64_t query, std::int64_t key) {
  if (pattern.multiplicity(site, query, key) == 0) {
    return EdgeKind::kNone;
  }
  return pattern.root().edge_kind(Context(site), query + site.query_offset, key);
}

const char* edge_kind_name(EdgeKind kind) noexcept {
  constexpr const char* kNames[kEdgeKinds] = {"global", "window", "random", "segment", "summary",
                                              "stride", "other",  "full",   "none"};
  return kNames[static_cast<int>(kind)];
}

}  // namespace weft::pattern
