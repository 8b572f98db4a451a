// SPDX-License-Identifier: Apache-2.0
// Reach follows the content of 256 positions through the layers; what is added is the same for all layers, so that one
// measure of the whole stack decides.
#include "weft/profile/propose/rewire.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "weft/core/error.h"
#include "weft/inspect/graph/statistics.h"
#include "weft/pattern/pattern.h"
#include "weft/profile/prune/base_graph.h"

namespace weft::profile {
namespace {

constexpr std::int64_t kLongestStack = 4096;
constexpr std::int64_t kFollowed = 256;

std::int64_t stack_length(const Part& part, const ProposeSettings& settings) {
  return settings.length > 0 ? settings.length : part.sums.queries();
}

pattern::Site site_of(const Part& part, std::int64_t length) {
  return {.query_length = length,
          .key_length = length,
          .heads = part.site.heads,
          .layer = part.site.layer,
          .maximum_length = std::max(length, part.site.maximum_length)};
}

// Positions that one hears of through all layers, on average; and the smallest gap, where it is asked for.
Connection measured(const std::vector<LayerProposal>& layers, const ProposeSettings& settings, bool is_base) {
  std::optional<inspect::Reach> reach;
  Connection connection{0, 1};
  for (const LayerProposal& layer : layers) {
    if (layer.part->site.cross) {
      continue;
    }
    const std::int64_t length = stack_length(*layer.part, settings);
    require(length <= kLongestStack, "propose: --rewire measures up to ", kLongestStack, " tokens, found ", length,
            "; give a shorter --length");
    if (!reach) {
      reach.emplace(length, inspect::sample_positions(length, std::min(length, kFollowed)));
    }
    const auto pattern = pattern::Pattern::parse(is_base ? layer.part->site.expression : layer.expression);
    const inspect::WordRows rows = inspect::pattern_graph(pattern, site_of(*layer.part, length));
    connection.reach = reach->pass(rows).value;
    if (settings.gap > 0 && !is_base) {
      const auto second = inspect::second_eigenvalue(inspect::symmetrised(rows));
      connection.gap = std::min(connection.gap, second ? 1 - second->value : 0);
    }
  }
  return connection;
}

LayerProposal with_term(LayerProposal layer, const std::string& term) {
  const auto cheapest = std::min_element(layer.heads.begin(), layer.heads.end(),
                                         [](const auto& left, const auto& right) { return left.cost < right.cost; });
  if (cheapest->expression != "full") {
    cheapest->expression += " | " + term;
  }
  layer.rewired = term;
  join_heads(layer);
  return layer;
}

std::vector<std::string> terms_to_try() {
  std::vector<std::string> terms;
  for (int count = 1; count <= 64; count *= 2) {
    terms.push_back(concat("global(", count, ", side=keys)"));
    terms.push_back(concat("global(", count, ")"));
    terms.push_back(concat("random(", count, ", seed=layer)"));
  }
  return terms;
}

}  // namespace

double base_cost(const Part& part, std::int64_t length, const LayoutCost& cost) {
  std::optional<pattern::Pattern> parsed;
  try {
    parsed = pattern::Pattern::parse(part.site.expression);
  } catch (const Error& error) {
    fail(ErrorKind::kUnsupported, "propose: ", part.site.name,
         " attends by a mechanism that patterns cannot replace: ", error.what());
  }
  const bool is_unknown = parsed->needs_input();  // its global positions are those of each text
  const auto pattern = is_unknown ? pattern::Pattern::parse(part.site.causal ? "causal" : "full") : *parsed;
  return cost.of(pattern::compile(pattern, site_of(part, length), {}), part.site.head_dim);
}

Connection connection(const std::vector<LayerProposal>& layers, const ProposeSettings& settings) {
  Connection found = measured(layers, settings, false);
  const double before = measured(layers, settings, true).reach;
  found.reach = before > 0 ? found.reach / before : 1;
  return found;
}

void rewire(std::vector<LayerProposal>& layers, const ProposeSettings& settings, const LayoutCost& cost) {
  constexpr double kEnough = 0.999;
  const double before = measured(layers, settings, true).reach;
  const auto is_enough = [&](const std::vector<LayerProposal>& tried) {
    const Connection found = measured(tried, settings, false);
    return found.reach >= kEnough * before && (settings.gap == 0 || found.gap >= settings.gap);
  };
  if (is_enough(layers)) {
    return;
  }
  for (const std::string& term : terms_to_try()) {
    std::vector<LayerProposal> tried;
    tried.reserve(layers.size());
    for (const LayerProposal& layer : layers) {
      tried.push_back(layer.part->site.cross ? layer : with_term(layer, term));
    }
    if (is_enough(tried)) {
      layers = std::move(tried);
      for (LayerProposal& layer : layers) {
        const std::int64_t length = stack_length(*layer.part, settings);
        const auto pattern = pattern::Pattern::parse(layer.expression);
        layer.cost = cost.of(pattern::compile(pattern, site_of(*layer.part, length), {}), layer.part->site.head_dim);
      }
      return;
    }
  }
  fail(ErrorKind::kArgument, "propose: no 64 global or random keys restore what the patterns connected, with a gap of ",
       settings.gap, "; ask for a smaller --gap, or for more --mass");
}

}  // namespace weft::profile
