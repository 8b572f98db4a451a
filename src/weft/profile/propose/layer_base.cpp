// SPDX-License-Identifier: Apache-2.0
// Containment is counted: as many edges are left when both patterns are intersected.
#include "weft/profile/propose/layer_base.h"

#include <algorithm>
#include <array>
#include <utility>

#include "weft/core/error.h"
#include "weft/pattern/build.h"

namespace weft::profile {
namespace {

constexpr pattern::Tile kCountedTile{64, 64};
constexpr std::int64_t kLongestCompared = 16384;  // a longer layout of full blocks takes seconds
constexpr std::array<std::int64_t, 1> kFirstPosition = {0};

bool has_heads(const pattern::Node& node) {
  return pattern::any_node(node, [](const pattern::Node& each) { return each.kind() == pattern::NodeKind::kHeads; });
}

// `node` as the context's head has it, without `heads` where that is a term of unions, intersections and complements.
pattern::NodePtr of_one_head(const pattern::NodePtr& node, const pattern::Context& context) {
  if (!has_heads(*node)) {
    return node;
  }
  using pattern::NodeKind;
  std::vector<pattern::NodePtr> terms;
  switch (node->kind()) {
    case NodeKind::kHeads:
    case NodeKind::kName:  // lives as long as the tree
      return of_one_head(pattern::NodePtr(node, &node->resolved(context)), context);
    case NodeKind::kUnion:
    case NodeKind::kIntersection:
      for (const pattern::NodePtr& child : node->children()) {
        terms.push_back(of_one_head(child, context));
      }
      return node->kind() == NodeKind::kUnion ? pattern::any_of(std::move(terms)) : pattern::all_of(std::move(terms));
    case NodeKind::kComplement:
      return pattern::complement(of_one_head(node->children().front(), context));
    default:
      return node;
  }
}

pattern::Pattern pattern_of(const Part& part, const std::filesystem::path& directory) {
  try {
    return pattern::Pattern::parse(part.site.expression, directory);
  } catch (const Error& error) {
    fail(error.kind() == ErrorKind::kExpression ? ErrorKind::kUnsupported : error.kind(), "propose: ", part.site.name,
         " attends by a mechanism that patterns cannot replace: ", error.what());
  }
}

// The side of a text whose longer side has `length`.
std::int64_t scaled(std::int64_t side, std::int64_t longer, std::int64_t length) {
  return std::max<std::int64_t>(1, (side * length + longer - 1) / longer);
}

std::int64_t edges_of(const pattern::Pattern& pattern, const pattern::Site& site) {
  return pattern::compile(pattern, site, kCountedTile).edges();
}

}  // namespace

LayerBase::LayerBase(const Part& part, std::int64_t length, const LayoutCost& cost,
                     const std::filesystem::path& directory)
    : part_(part), cost_(cost), directory_(directory), pattern_(pattern_of(part, directory)) {
  const std::int64_t queries = part.sums.queries();
  const std::int64_t keys = part.sums.keys();
  const std::int64_t longer = std::max(queries, keys);
  site_ = length > 0 ? site_of(scaled(queries, longer, length), scaled(keys, longer, length), part.site.heads)
                     : site_of(queries, keys, part.site.heads);
  const std::string text = pattern_.to_string();
  is_dense_ = text == "full" || text == "causal";
}

pattern::Site LayerBase::site_of(std::int64_t queries, std::int64_t keys, std::int64_t heads) const {
  return {.query_length = queries,
          .key_length = keys,
          .heads = heads,
          .layer = part_.site.layer,
          .maximum_length = std::max({queries, keys, part_.site.maximum_length}),
          .input = kFirstPosition};
}

double LayerBase::priced(const pattern::Pattern& pattern, const pattern::Site& site) const {
  const std::string name = concat(site.heads, " ", pattern.to_string());
  const auto known = costs_.find(name);
  return known != costs_.end() ? known->second : costs_[name] = cost_.of(pattern, site, part_.site.head_dim);
}

pattern::Pattern LayerBase::parsed(const std::string& expression) const {
  return pattern::Pattern::parse(expression, directory_);
}

double LayerBase::cost_of(const std::string& expression) const { return priced(parsed(expression), site_); }

pattern::Pattern LayerBase::of_head(std::int64_t head) const {
  pattern::Site site = site_;
  site.head = head;
  return pattern::Pattern(of_one_head(pattern_.node(), pattern::Context(site)));
}

pattern::Pattern LayerBase::below_causal(const std::string& expression) const {
  return pattern::Pattern::parse(part_.site.causal ? concat("causal & (", expression, ")") : expression);
}

double LayerBase::head_cost(std::int64_t head, const std::string& expression) const {
  const pattern::Pattern had = of_head(head);
  if (has_heads(had.root())) {  // inside `block`: every head is priced as the mean
    return expression == kWholeHead
               ? cost() / static_cast<double>(site_.heads)
               : priced(below_causal(expression), site_of(site_.query_length, site_.key_length, 1));
  }
  const pattern::Pattern asked = below_causal(expression);
  const bool is_whole = expression == kWholeHead;
  const pattern::Pattern both = is_whole ? had
                                : contains(head, expression)
                                    ? asked
                                    : pattern::Pattern(pattern::all_of({had.node(), asked.node()}));
  return priced(both, site_of(site_.query_length, site_.key_length, 1));
}

bool LayerBase::contains(std::int64_t head, const std::string& expression) const {
  if (is_dense_) {
    return true;
  }
  const pattern::Pattern had = of_head(head);
  if (expression == kWholeHead || has_heads(had.root())) {
    return false;
  }
  const std::string name = concat(had.to_string(), " holds ", expression);
  if (const auto known = contains_.find(name); known != contains_.end()) {
    return known->second;
  }
  const pattern::Pattern asked = below_causal(expression);
  const pattern::Pattern both(pattern::all_of({had.node(), asked.node()}));
  std::vector<pattern::Site> sites = {site_of(part_.sums.queries(), part_.sums.keys(), 1),
                                      site_of(site_.query_length, site_.key_length, 1)};
  if (const std::int64_t longest = part_.site.maximum_length; longest > 0 && longest <= kLongestCompared) {
    sites.push_back(site_of(longest, longest, 1));
  }
  return contains_[name] = std::all_of(sites.begin(), sites.end(), [&](const pattern::Site& site) {
           return edges_of(both, site) == edges_of(asked, site);
         });
}

std::string LayerBase::joined(const std::vector<std::string>& heads) const {
  std::vector<std::pair<std::string, std::int64_t>> runs;
  bool is_inside = true;
  for (std::size_t head = 0; head < heads.size(); ++head) {
    is_inside = is_inside && contains(static_cast<std::int64_t>(head), heads[head]);
    if (runs.empty() || runs.back().first != heads[head]) {
      runs.emplace_back(heads[head], 0);
    }
    ++runs.back().second;
  }
  if (runs.size() == 1 && runs.front().first == kWholeHead) {
    return pattern_.to_string();
  }
  std::string text = runs.size() == 1 ? concat("(", runs.front().first, ")") : "";
  for (std::size_t run = 0; run < runs.size() && runs.size() > 1; ++run) {
    text += concat(run == 0 ? "heads(" : ", ", runs[run].second, " * ", runs[run].first);
  }
  text += runs.size() == 1 ? "" : ")";
  const std::string front = !is_inside          ? concat("(", pattern_.to_string(), ") & ")
                            : part_.site.causal ? "causal & "
                                                : "";
  return parsed(front + text).to_string();
}

}  // namespace weft::profile
