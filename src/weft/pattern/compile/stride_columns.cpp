// SPDX-License-Identifier: Apache-2.0
// A head's tree becomes a union of terms, each with or without `causal`; one stride among them is taken out, and its
// edges are taken away from the rest.
#include "weft/pattern/compile/stride_columns.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "weft/core/error.h"
#include "weft/pattern/build.h"
#include "weft/pattern/interval.h"

namespace weft::pattern {
namespace {

constexpr std::int64_t kTileRows = 64;
constexpr std::int64_t kShortest = 1024;                  // below it the copies of rows cost more than they save
constexpr std::int64_t kLongest = std::int64_t{1} << 24;  // a row of blocks is counted block by block
constexpr std::int64_t kSampledRows = 16;                 // rows of blocks
constexpr double kGolden = 0.6180339887498949;
// Copying and merging a row of blocks, forwards and backwards, takes as long as so many blocks of a head of width 64
// (measured at 2,048 to 8,192 rows, strides 64, 96 and 128).
constexpr double kCopiesInBlocks = 12;

struct Term {
  NodePtr node;
  bool is_causal = false;

  NodePtr edges() const { return is_causal ? all_of({parse_node("causal"), node}) : node; }
};

bool is_causal_node(const Node& node) { return node.kind() == NodeKind::kPrimitive && to_string(node) == "causal"; }

/// `node` for the context's head; it lives as long as the tree that it is part of.
NodePtr resolved(const NodePtr& node, const Context& context) { return {node, &node->resolved(context)}; }

void collect(const NodePtr& given, const Context& context, bool is_causal, std::vector<Term>& terms) {
  const NodePtr node = resolved(given, context);
  if (node->kind() == NodeKind::kUnion) {
    for (const NodePtr& child : node->children()) {
      collect(child, context, is_causal, terms);
    }
    return;
  }
  if (node->kind() == NodeKind::kIntersection) {
    std::vector<NodePtr> others;
    for (const NodePtr& child : node->children()) {
      if (!is_causal_node(*resolved(child, context))) {
        others.push_back(child);
      }
    }
    const bool has_causal = std::ssize(others) < std::ssize(node->children());
    if (has_causal && others.size() == 1) {
      collect(others.front(), context, true, terms);
      return;
    }
  }
  terms.push_back({node, is_causal});
}

/// One head, taken apart.
struct Head {
  std::int64_t stride = 0;  // 0: `rest` is all of it
  bool is_causal = false;
  NodePtr rest;  // null: no edges
};

/// The terms but `chosen`, which may be their end, and none of its edges.
NodePtr rest_of(const std::vector<Term>& terms, std::vector<Term>::const_iterator chosen) {
  const bool all_causal = std::all_of(terms.begin(), terms.end(), [](const Term& term) { return term.is_causal; });
  const auto edges_of = [&](const Term& term) { return all_causal ? term.node : term.edges(); };
  std::vector<NodePtr> others;
  for (auto term = terms.begin(); term != terms.end(); ++term) {
    if (term != chosen) {
      others.push_back(edges_of(*term));
    }
  }
  if (others.empty()) {
    return nullptr;
  }
  std::vector<NodePtr> all;
  if (all_causal) {
    all.push_back(parse_node("causal"));
  }
  all.push_back(any_of(std::move(others)));
  if (chosen != terms.end()) {
    all.push_back(complement(edges_of(*chosen)));
  }
  return all_of(std::move(all));
}

Head head_of(const NodePtr& root, const Context& context) {
  std::vector<Term> terms;
  collect(root, context, false, terms);
  constexpr std::int64_t kNone = kMaximumSize;
  const auto stride_of = [&](const Term& term) {
    const std::int64_t stride = term.node->stride(context);
    return stride < 2 || stride >= context.key_length ? kNone : stride;  // one column, or columns of one row
  };
  // The shortest stride has the most edges; of two equal ones, that without `causal`.
  const auto chosen = std::min_element(terms.begin(), terms.end(), [&](const Term& a, const Term& b) {
    return std::pair(stride_of(a), a.is_causal) < std::pair(stride_of(b), b.is_causal);
  });
  return stride_of(*chosen) == kNone ? Head{.rest = rest_of(terms, terms.end())}
                                     : Head{stride_of(*chosen), chosen->is_causal, rest_of(terms, chosen)};
}

/// One pattern for all heads; null where no head has any.
NodePtr of_heads(const std::vector<NodePtr>& each) {
  if (std::all_of(each.begin(), each.end(), [](const NodePtr& node) { return node == nullptr; })) {
    return nullptr;
  }
  std::vector<HeadShare> shares;
  for (std::size_t head = 0; head < each.size(); ++head) {
    if (head > 0 && each[head] == each[head - 1]) {
      ++*shares.back().count;
    } else {
      shares.push_back({1, each[head] == nullptr ? complement(parse_node("full")) : each[head]});
    }
  }
  return shares.size() == 1 ? shares.front().pattern : heads(std::move(shares));
}

/// Heads in their order; equal ones are the same object in what they hold.
std::vector<Head> heads_of(const Pattern& pattern, Site site) {
  std::map<std::string, Head> known;
  std::vector<Head> found;
  for (site.head = 0; site.head < site.heads; ++site.head) {
    const Context context(site);
    std::string text = Printer(context).node(pattern.root()).take();
    auto at = known.find(text);
    if (at == known.end()) {
      at = known.emplace(std::move(text), head_of(pattern.node(), context)).first;
    }
    found.push_back(at->second);
  }
  return found;
}

/// Blocks of a square layout of all heads, from rows of blocks that lie in no step with columns: golden sections of
/// equal parts of the text.
double counted_blocks(const Pattern& pattern, Site site, std::int64_t length) {
  site.key_length = length;
  const std::int64_t rows = ceil_divide(length, kTileRows);
  const std::int64_t sampled = std::min(rows, kSampledRows);
  double blocks = 0;
  for (std::int64_t sample = 0; sample < sampled; ++sample) {
    const double section = std::fmod(kGolden * static_cast<double>(sample + 1), 1.0);
    const auto row = static_cast<std::int64_t>((static_cast<double>(sample) + section) * static_cast<double>(rows) /
                                               static_cast<double>(sampled));
    site.query_offset = row * kTileRows;
    site.query_length = std::min(kTileRows, length - site.query_offset);
    const BlockLayout layout = compile(pattern, site, {kTileRows, kTileRows});
    for (const std::int32_t group : layout.group) {
      const auto at = static_cast<std::size_t>(group);
      blocks += static_cast<double>(layout.row_begin[at + 1] - layout.row_begin[at]);
    }
  }
  return blocks * static_cast<double>(rows) / static_cast<double>(sampled);
}

/// The columns of one stride, for the heads that have it.
StrideColumns columns_with(std::int64_t stride, const std::vector<Head>& all, std::int64_t length) {
  const std::int64_t rows = ceil_divide(length, stride);
  const NodePtr both = block(rows, parse_node("window(left=0)"));
  const NodePtr past = all_of({parse_node("causal"), both});
  std::vector<NodePtr> each;
  bool is_causal = true;
  for (const Head& head : all) {
    const bool has_it = head.stride == stride;
    is_causal = is_causal && (!has_it || head.is_causal);
    each.push_back(!has_it ? nullptr : (head.is_causal ? past : both));
  }
  return {.stride = stride, .rows = rows, .is_causal = is_causal, .pattern = Pattern(of_heads(each))};
}

bool may_be_split(const Pattern& pattern, const Site& site) {
  return site.query_length == site.key_length && site.query_offset == 0 && site.key_length >= kShortest &&
         site.key_length <= kLongest && !pattern.needs_input() && !is_counted(pattern.root());
}

}  // namespace

std::optional<StridesInColumns> strides_in_columns(const Pattern& pattern, const Site& site) {
  if (!may_be_split(pattern, site)) {
    return std::nullopt;
  }
  pattern.check(site);
  const std::vector<Head> all = heads_of(pattern, site);
  const auto holds_heads = [](const Head& head) {
    return head.rest != nullptr &&
           any_node(*head.rest, [](const Node& node) { return node.kind() == NodeKind::kHeads; });
  };
  if (std::any_of(all.begin(), all.end(), holds_heads)) {
    return std::nullopt;
  }
  StridesInColumns split;
  std::vector<NodePtr> rests;
  for (const Head& head : all) {
    rests.push_back(head.rest);
    const auto is_known = [&](const StrideColumns& columns) { return columns.stride == head.stride; };
    if (head.stride != 0 && std::none_of(split.columns.begin(), split.columns.end(), is_known)) {
      split.columns.push_back(columns_with(head.stride, all, site.key_length));
    }
  }
  if (split.columns.empty()) {
    return std::nullopt;
  }
  for (const StrideColumns& columns : split.columns) {
    split.blocks += counted_blocks(columns.pattern, site, columns.places());
  }
  if (const NodePtr rest = of_heads(rests)) {
    split.rest.emplace(rest);
    split.blocks += counted_blocks(*split.rest, site, site.key_length);
  }
  split.blocks_in_text = counted_blocks(pattern, site, site.key_length);
  const double copied = kCopiesInBlocks * static_cast<double>(site.heads * std::ssize(split.columns)) *
                        static_cast<double>(ceil_divide(site.key_length, kTileRows));
  return split.blocks + copied < split.blocks_in_text ? std::optional(std::move(split)) : std::nullopt;
}

}  // namespace weft::pattern
