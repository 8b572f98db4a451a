// SPDX-License-Identifier: Apache-2.0
// Patterns as mechanisms, and the rules between a mechanism and its site.
#include "weft/attention/mechanisms/spec.h"

#include <algorithm>

#include "weft/core/error.h"
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

MechanismSpec pattern_at(const Pattern& written, const MechanismSite& site) {
  const Pattern pattern = site.causal && !implies_causal(written.root())
                              ? Pattern(pattern::all_of({pattern::parse_node("causal"), written.node()}))
                              : written;
  const std::int64_t length = site.maximum_length > 0 ? site.maximum_length : 1;
  const std::int64_t keys = site.maximum_key_length > 0 ? site.maximum_key_length : length;
  pattern.check({.query_length = length,
                 .key_length = keys,
                 .heads = site.heads,
                 .layer = site.layer,
                 .maximum_length = std::max(site.maximum_length, site.maximum_key_length)});
  return pattern_mechanism(pattern);
}

void check_limit(const MechanismSpec& spec, bool asked, const std::string& limit, const char* what) {
  require(!asked || limit.empty(), "attention: `", spec.description, "` cannot ", what, ", because ", limit);
}

}  // namespace

MechanismSpec pattern_mechanism(const Pattern& pattern) {
  MechanismSpec spec;
  spec.name = "pattern";
  spec.description = pattern.to_string();
  spec.needs_input = pattern.needs_input();
  spec.ignores_query_positions = spec.description == "full";
  spec.keeps_memory = pattern::is_by_distance(pattern.root());
  spec.files = pattern.files();
  spec.pattern = pattern;
  spec.not_observed = "";
  return spec;
}

MechanismSpec at_site(MechanismSpec spec, const MechanismSite& site) {
  require(site.heads > 0, "attention: heads must be positive, found ", site.heads);
  for (const double share : {site.dropout, site.position_dropout}) {
    require(share >= 0 && share < 1, "attention: dropout must be in [0, 1), found ", share);
  }
  require(spec.heads == 0 || spec.heads == site.heads, "attention: `", spec.description, "` is of ", spec.heads,
          " heads, found a layer of ", site.heads);
  check_limit(spec, site.causal, spec.limits.causal, "be part of a decoder");
  check_limit(spec, site.incremental, spec.limits.incremental, "go on token by token");
  check_limit(spec, site.cross, spec.limits.cross, "attend to another sequence");
  if (site.cross && spec.needs_input) {
    fail(ErrorKind::kUnsupported, "cross-attention: `", spec.description,
         "` names `input`, but positions of the target and of the source are not the same");
  }
  check_limit(spec, site.alibi, spec.limits.distances, "be given ALiBi positions");
  check_limit(spec, site.buckets.has_value(), spec.limits.distances, "be given learned scores of distances");
  require(!site.buckets || (site.buckets->count >= 4 && site.buckets->count % 4 == 0 &&
                            site.buckets->farthest > site.buckets->count),
          "attention: buckets of distances must be a multiple of 4, and fewer than the farthest distance, found ",
          site.buckets ? site.buckets->count : 0, " and ", site.buckets ? site.buckets->farthest : 0);
  return spec.pattern ? pattern_at(*spec.pattern, site) : spec;
}

std::optional<double> forward_operations(const MechanismSpec& spec, const MechanismSite& site, std::int64_t length) {
  return !spec.operations ? std::nullopt : std::optional(spec.operations(site, length));
}

}  // namespace weft::attention
