// SPDX-License-Identifier: Apache-2.0
// A head has a file of its own; pruned heads have `!full`, which has no edge.
#include "weft/profile/prune/expression.h"

#include <algorithm>
#include <regex>

#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/pattern/build.h"
#include "weft/profile/prune/window_control.h"

namespace weft::profile {
namespace {

// l03h11.mtx; of an encoder-decoder, which has three kinds of layers, encoder-l03h11.mtx, decoder-..., cross-....
std::string graph_name(const PartSite& site, std::int64_t head) {
  const auto two = [](std::int64_t number) {
    const std::string digits = std::to_string(number);
    return std::string(digits.size() < 2 ? 2 - digits.size() : 0, '0') + digits;
  };
  std::string kind;
  if (site.cross) {
    kind = "cross-";
  } else if (const std::size_t dot = site.name.find(".layers"); dot != std::string::npos) {
    kind = site.name.substr(0, dot) + "-";
  }
  return concat(kind, "l", two(site.layer), "h", two(head), ".mtx");
}

// Cells on one side of the graph that texts of `longest` positions need.
std::int64_t cells(std::int64_t seen, std::int64_t longest, std::int64_t cell) {
  return std::max(seen, (longest + cell - 1) / cell);
}

std::string head_term(const PruneResult& result, const std::string& folder, std::int64_t head) {
  const std::string edges = concat("edges(\"", folder, "/", graph_name(result.layer.part->site, head), "\")");
  return result.layer.cell == 1 ? edges : concat("block(", result.layer.cell, ", ", edges, ")");
}

std::string heads_text(const std::vector<std::string>& terms) {
  std::string text;
  for (std::size_t head = 0; head < terms.size(); ++head) {
    text += concat(head == 0 ? "" : ", ", terms[head]);
  }
  return terms.size() == 1 ? text : concat("heads(", text, ")");
}

// Which heads are kept: heads(2 * full, 1 * !full).
std::string kept_heads(const std::vector<bool>& kept) {
  std::vector<std::string> terms;
  for (std::size_t head = 0; head < kept.size();) {
    std::size_t end = head;
    while (end < kept.size() && kept[end] == kept[head]) {
      ++end;
    }
    terms.push_back(concat(end - head, " * ", kept[head] ? "full" : "!full"));
    head = end;
  }
  return terms.size() == 1 ? "full" : heads_text(terms);
}

}  // namespace

std::int64_t longest_keys(const AttentionProfile& profile, const Part& part) {
  if (!part.site.cross) {
    return part.site.maximum_length;
  }
  std::int64_t longest = 0;
  for (const Part& other : profile.parts) {
    longest = other.site.name.starts_with("encoder.") ? std::max(longest, other.site.maximum_length) : longest;
  }
  return longest;
}

bool is_graph_name(std::string_view name) {
  static const std::regex graph("((encoder|decoder|cross)-)?l[0-9]{2,}h[0-9]{2,}\\.mtx");
  return std::regex_match(name.begin(), name.end(), graph);
}

void write_graphs(const std::filesystem::path& folder, const PruneResult& result, std::int64_t keys) {
  const Part& part = *result.layer.part;
  const Mask& mask = result.mask;
  const std::int64_t cell = result.layer.cell;
  for (std::int64_t head = 0; head < mask.heads(); ++head) {
    std::string lines;
    std::int64_t count = 0;
    for (std::int64_t row = 0; row < mask.rows(); ++row) {
      for (std::int64_t column = 0; column < mask.columns(); ++column) {
        if (mask.test(head, row, column)) {
          lines.append(std::to_string(row + 1)).append(" ").append(std::to_string(column + 1)).append("\n");
          ++count;
        }
      }
    }
    constexpr std::int64_t kMostEntries = std::int64_t{1} << 25;
    require(count <= kMostEntries, "prune: head ", head, " of ", part.site.name, " keeps ", count,
            " units, and a file of edges(...) holds 2^25; keep fewer or prune by larger blocks");
    write_file_atomically(
        folder / graph_name(part.site, head),
        concat("%%MatrixMarket matrix coordinate pattern general\n", cells(mask.rows(), part.site.maximum_length, cell),
               ' ', cells(mask.columns(), keys, cell), ' ', count, '\n', lines));
  }
}

pattern::Pattern pruned_pattern(const PruneResult& result, const std::string& folder,
                                const std::filesystem::path& directory, std::int64_t keys) {
  const Part& part = *result.layer.part;
  const pattern::Pattern& base = result.layer.graph.pattern;
  if (result.window >= 0) {
    return windowed(base, result.window, part.site.causal);
  }
  std::string kept;
  if (!result.is_head_kept.empty()) {
    kept = kept_heads(result.is_head_kept);
  } else {
    std::vector<std::string> terms;
    terms.reserve(static_cast<std::size_t>(part.site.heads));
    for (std::int64_t head = 0; head < part.site.heads; ++head) {
      terms.push_back(head_term(result, folder, head));
    }
    kept = heads_text(terms);
    const std::int64_t seen_queries = result.mask.rows() * result.layer.cell;
    const std::int64_t seen_keys = result.mask.columns() * result.layer.cell;
    if (part.site.maximum_length > seen_queries || keys > seen_keys) {
      kept += concat(" | !(global(", seen_queries, ", side=queries) & global(", seen_keys, ", side=keys))");
    }
  }
  const pattern::NodePtr term = pattern::parse_node(kept, directory);
  return base.to_string() == "full" ? pattern::Pattern(term) : pattern::Pattern(pattern::all_of({base.node(), term}));
}

}  // namespace weft::profile
