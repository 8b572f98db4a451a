// SPDX-License-Identifier: Apache-2.0
// Patterns found again in hand-made attention: windows, columns, strides; from sums of edges and without them; merged
// by head, and connected again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/profile/propose/propose.h"
#include "weft/profile/propose/rewire.h"

namespace weft::test {
namespace {

using profile::AttentionProfile;
using profile::Part;
using profile::ProposeSettings;

using WeightOf = std::function<double(std::int64_t head, std::int64_t distance, std::int64_t key)>;

// Rows of softmaxes whose numerators are `weight`; a row that is in `global` looks everywhere alike.
Part attention_like(const std::string& expression, std::int64_t heads, std::int64_t length, const WeightOf& weight,
                    std::int64_t edge_limit = 1024, const std::vector<std::int64_t>& global = {}) {
  Part part;
  part.site.name = "layers.0.self";
  part.site.causal = expression == "causal";
  part.site.heads = heads;
  part.site.head_dim = 64;
  part.site.expression = expression;
  part.sums = profile::MassSums({heads, 64, edge_limit});
  part.sums.grow(length, length);
  profile::MassSums& sums = part.sums;
  std::vector<double> row(static_cast<std::size_t>(length));
  const auto add = [](std::vector<std::int64_t>& numbers, std::int64_t place, std::int64_t amount) {
    numbers.at(static_cast<std::size_t>(place)) += amount;
  };
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t query = 0; query < length; ++query) {
      const bool is_global = std::find(global.begin(), global.end(), query) != global.end();
      for (std::int64_t key = 0; key < length; ++key) {
        row[static_cast<std::size_t>(key)] = part.site.causal && key > query ? 0
                                             : is_global                     ? 1
                                                                             : weight(head, query - key, key);
      }
      const double whole = std::accumulate(row.begin(), row.end(), 0.0);
      add(sums.rows, head * length + query, 1);
      for (std::int64_t key = 0; key < length; ++key) {
        const auto amount = static_cast<std::int64_t>(row[static_cast<std::size_t>(key)] / whole / profile::kMassUnit);
        add(sums.key, head * length + key, amount);
        add(sums.distance, head * sums.distances() + query - key + length - 1, amount);
        if (sums.has_edges()) {
          add(sums.edge, (head * length + query) * length + key, amount);
        }
      }
    }
  }
  return part;
}

std::string proposed(const Part& part, double mass) {
  return propose_head(part, 0, {.mass = mass}, profile::LayoutCost()).expression;
}

TEST(Propose, FindsTheWindowAndTheGlobalPositionsOfALongformerAgain) {
  const auto weight = [](auto, std::int64_t distance, std::int64_t key) {
    return std::abs(distance) <= 16 || key == 0 || key == 200 ? 1.0 : 0.0;
  };
  for (const std::int64_t edge_limit : {1024, 0}) {
    const Part part = attention_like("full", 1, 300, weight, edge_limit, {0, 200});
    const auto found = propose_head(part, 0, {.mass = 0.975}, profile::LayoutCost());
    EXPECT_EQ(found.expression, "window(32) | global(at=[0, 200], side=keys)") << edge_limit;
    EXPECT_GE(found.kept_mass, 0.975);
    EXPECT_LT(found.kept_mass, 1);
  }
}

TEST(Propose, FindsSinksStridesAndHeadsThatLookEverywhere) {
  const Part sinks = attention_like("causal", 1, 256, [](auto, std::int64_t distance, std::int64_t key) {
    return key < 4 ? 1.0 : distance < 8 ? 1.0 : 0.0;
  });
  EXPECT_EQ(proposed(sinks, 0.99), "window(left=7) | global(4, side=keys)");
  const Part strides = attention_like("causal", 1, 512, [](auto, std::int64_t distance, auto) {
    return distance < 12 || distance % 96 == 0 ? 1.0 : 0.0;
  });
  EXPECT_EQ(propose_head(strides, 0, {.mass = 0.999}, profile::LayoutCost()).kept_mass >= 0.999, true);
  EXPECT_EQ(profile::strong_strides(strides.sums, 0).front(), 96);
  const Part everywhere = attention_like("causal", 1, 256, [](auto, auto, auto) { return 1.0; });
  EXPECT_EQ(proposed(everywhere, 1), "full");
  EXPECT_EQ(proposed(attention_like("causal", 1, 1, [](auto, auto, auto) { return 1.0; }), 0.95), "full");
}

TEST(Propose, MergesHeadsThatAreAlike) {
  AttentionProfile profile;
  profile.progress.complete = true;
  profile.parts = {attention_like("causal", 4, 200, [](std::int64_t head, std::int64_t distance, auto) {
    return distance < (head < 3 ? 5 : 64) ? 1.0 : 0.0;
  })};
  const auto layers = propose(profile, {.mass = 0.99, .length = 4096}, profile::LayoutCost());
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_EQ(layers[0].expression, "causal & heads(3 * window(left=4), 1 * window(left=63))");
  EXPECT_LT(layers[0].cost, 0.1 * layers[0].base_cost);
}

TEST(Propose, ConnectsAgainWhatWindowsTookApart) {
  AttentionProfile profile;
  profile.progress.complete = true;
  profile.parts = {attention_like(
      "full", 2, 300, [](auto, std::int64_t distance, auto) { return std::abs(distance) <= 2 ? 1.0 : 0.0; })};
  profile.parts.push_back(profile.parts.front());
  profile.parts.back().site.name = "layers.1.self";
  profile.parts.back().site.layer = 1;
  const ProposeSettings plain{.mass = 0.99};
  EXPECT_LT(connection(propose(profile, plain, profile::LayoutCost()), plain).reach, 0.1);
  const ProposeSettings wanted{.mass = 0.99, .rewire = true};
  const auto layers = propose(profile, wanted, profile::LayoutCost());
  EXPECT_GE(connection(layers, wanted).reach, 0.999);
  EXPECT_FALSE(layers[0].rewired.empty());
  EXPECT_NE(layers[0].expression.find(layers[0].rewired), std::string::npos) << layers[0].expression;
}

}  // namespace
}  // namespace weft::test
