// SPDX-License-Identifier: Apache-2.0
// A pattern at a layer: `causal` joined where the model decodes, a tile for the length of the call, the layout from the
// cache.
#include "weft/attention/pattern_attention.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/pattern/build.h"

namespace weft::attention {
namespace {

using pattern::Node;
using pattern::NodeKind;
using pattern::NodePtr;
using pattern::Pattern;

// Whether the tree as written cannot reach a later position. May say no where it takes more than a look to see.
bool implies_causal(const Node& node) {
  if (const Node* expansion = node.expansion()) {
    return implies_causal(*expansion);
  }
  const auto children = node.children();
  const auto child_implies = [](const NodePtr& child) { return implies_causal(*child); };
  switch (node.kind()) {
    case NodeKind::kIntersection:
      return std::any_of(children.begin(), children.end(), child_implies);
    case NodeKind::kUnion:
    case NodeKind::kHeads:
      return std::all_of(children.begin(), children.end(), child_implies);
    default:
      return pattern::to_string(node) == "causal";
  }
}

Pattern joined_with_causal(const Pattern& pattern, const MechanismSite& site) {
  return site.causal && !implies_causal(pattern.root())
             ? Pattern(pattern::all_of({pattern::parse_node("causal"), pattern.node()}))
             : pattern;
}

bool has_own_length(const pattern::RowBinding& row) { return row.query_length || row.key_length; }

}  // namespace

// Parsed alone first, so that an error points into what the user wrote.
PatternAttention::PatternAttention(const std::string& expression, const MechanismSite& site)
    : PatternAttention(Pattern::parse(expression, site.directory), site) {}

PatternAttention::PatternAttention(const Pattern& pattern, const MechanismSite& site)
    : site_(site),
      pattern_(joined_with_causal(pattern, site)),
      slopes_(site.alibi ? alibi_slopes(site.heads) : at::Tensor()) {
  const std::int64_t length = site.maximum_length > 0 ? site.maximum_length : 1;
  pattern_.check({.query_length = length,
                  .key_length = length,
                  .heads = site.heads,
                  .layer = site.layer,
                  .maximum_length = site.maximum_length});
}

LayoutPtr PatternAttention::layout_for(const at::Tensor& query, const at::Tensor& key,
                                       const AttentionContext& context) const {
  pattern::Site site;
  site.query_length = query.size(2);
  site.key_length = key.size(2);
  site.query_offset = context.query_offset;
  site.heads = site_.heads;
  site.layer = site_.layer;
  site.maximum_length = site_.maximum_length;
  // A decoded token is one query row: a taller tile would compute 64 times what it needs.
  const pattern::Tile tile{site.query_length == 1 ? 1 : 64, 64};
  const auto& rows = context.rows;
  const bool rows_differ = pattern_.needs_input() || std::any_of(rows.begin(), rows.end(), has_own_length);
  return cached_layout(
      pattern_, site, tile,
      rows_differ ? std::span<const pattern::RowBinding>(rows) : std::span<const pattern::RowBinding>());
}

at::Tensor PatternAttention::forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                     const AttentionContext& context) {
  require(query.dim() == 4 && key.dim() == 4,
          "attention: query and key must be [batch, heads, length, head_dim], found ", query.sizes(), " and ",
          key.sizes());
  AttentionOptions options;
  options.key_keep = context.key_keep;
  options.slopes = slopes_;
  if (is_training() && site_.dropout > 0) {
    options.dropout = site_.dropout;
    options.seed = random_bits(context.seed, static_cast<std::uint64_t>(site_.layer));
  }
  return attention(query, key, value, layout_for(query, key, context), options).output;
}

}  // namespace weft::attention
