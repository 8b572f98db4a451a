// SPDX-License-Identifier: Apache-2.0
// Patterns found again in hand-made attention: windows, columns, strides; from sums of edges and without them; inside
// the pattern that a layer had; merged by head, and priced as attention computes them.
#include "weft/profile/propose/propose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "profile/attention_like.h"
#include "weft/core/error.h"
#include "weft/inspect/cost/computed_orders.h"

namespace weft::test {
namespace {

using profile::AttentionProfile;
using profile::HeadProposal;
using profile::LayerBase;
using profile::LayoutCost;
using profile::Part;

HeadProposal proposed(const Part& part, double mass) {
  const LayoutCost cost;
  return propose_head(LayerBase(part, 0, cost), 0, {.mass = mass});
}

std::int64_t edges(const std::string& expression, const pattern::Site& site) {
  return pattern::compile(pattern::Pattern::parse(expression), site, {64, 64}).edges();
}

double ones(std::int64_t, std::int64_t, std::int64_t) { return 1.0; }

TEST(Propose, FindsTheWindowAndTheGlobalPositionsOfALongformerAgain) {
  const auto weight = [](auto, std::int64_t distance, std::int64_t key) {
    return std::abs(distance) <= 16 || key == 0 || key == 200 || key + distance == 0 || key + distance == 200 ? 1.0
                                                                                                              : 0.0;
  };
  for (const std::string base : {"full", "window(32) | global(at=[0, 200])"}) {
    for (const std::int64_t edge_limit : {1024, 0}) {
      const Part part = attention_like(base, {.length = 300, .edge_limit = edge_limit}, weight);
      const HeadProposal found = proposed(part, 0.975);
      EXPECT_EQ(found.expression, "window(32) | global(at=[0, 200], side=keys)") << base << ", " << edge_limit;
      EXPECT_GE(found.kept_mass, 0.975);
      EXPECT_LT(found.kept_mass, 1);
    }
  }
}

TEST(Propose, KeepsTheWholePatternOfALayerWhereNothingCheaperHoldsTheMass) {
  const LayoutCost cost;
  for (const std::string base :
       {"window(32) | global(at=[0, 200])", "block(16, global(first=1, last=1) | window(3) | random(2, seed=1))",
        "bigbird(block=16, plan=\"uniform\")"}) {
    const AttentionProfile profile = profile_with({attention_like(base, {.heads = 2, .length = 320}, ones)});
    const auto layers = propose(profile, {.mass = 1}, cost);
    EXPECT_EQ(layers[0].expression, pattern::Pattern::parse(base).to_string());
    EXPECT_EQ(layers[0].cost, layers[0].base_cost);
  }
}

TEST(Propose, FindsTheWindowAndTheGlobalBlocksOfABigBirdAgainAndAddsNoEdge) {
  constexpr std::int64_t kBlock = 16;
  constexpr std::int64_t kLast = 31;
  const std::string base = "block(16, global(first=1, last=1) | window(3) | random(2, seed=1))";
  const auto weight = [](auto, std::int64_t distance, std::int64_t key) {
    const std::int64_t query_block = (key + distance) / kBlock;
    const std::int64_t key_block = key / kBlock;
    const bool is_global = query_block == 0 || query_block == kLast || key_block == 0 || key_block == kLast;
    return is_global || std::abs(query_block - key_block) <= 1 ? 1.0 : 0.02;
  };
  const AttentionProfile profile = profile_with({attention_like(base, {.heads = 3, .length = 512}, weight)});
  const LayoutCost cost;
  const auto layers = propose(profile, {.mass = 0.98}, cost);
  const std::string& found = layers[0].expression;
  EXPECT_TRUE(found.starts_with(pattern::Pattern::parse(base).to_string() + " & (")) << found;
  EXPECT_NE(found.find("| global(first=16, last=16)"), std::string::npos) << found;
  EXPECT_LT(layers[0].cost, 0.9 * layers[0].base_cost);
  EXPECT_EQ(edges(found + " & !(" + base + ")", layers[0].base->site()), 0);
  for (const HeadProposal& head : layers[0].heads) {
    EXPECT_GE(head.kept_mass, 0.98);
    EXPECT_LE(head.terms->left, 31);  // three blocks of 16: 31 positions at most on a side
    EXPECT_GE(head.terms->left, 16);
  }
}

TEST(Propose, BeginsWithWhatEachHeadHad) {
  const std::string base = "causal & heads(2 * window(left=20), 2 * full)";
  const auto weight = [](std::int64_t head, std::int64_t distance, auto) {
    return head == 1 && distance > 3 ? 0.0 : 1.0;
  };
  const AttentionProfile profile = profile_with({attention_like(base, {.heads = 4, .length = 256}, weight)});
  const LayoutCost cost;
  const auto layers = propose(profile, {.mass = 1, .slack = 0}, cost);
  EXPECT_EQ(layers[0].heads[0].expression, "full");  // its window is all that it had
  EXPECT_EQ(layers[0].heads[1].expression, "window(left=3)");
  EXPECT_EQ(layers[0].heads[2].expression, "full");
  EXPECT_EQ(edges(layers[0].expression + " & !(" + base + ")", layers[0].base->site()), 0);
  EXPECT_LT(layers[0].cost, layers[0].base_cost);
}

TEST(Propose, FindsSinksStridesAndHeadsThatLookEverywhere) {
  const Part sinks = attention_like("causal", {.length = 256}, [](auto, std::int64_t distance, std::int64_t key) {
    return key < 4 ? 1.0 : distance < 8 ? 1.0 : 0.0;
  });
  EXPECT_EQ(proposed(sinks, 0.99).expression, "window(left=7) | global(4, side=keys)");
  const Part strides = attention_like("causal", {.length = 512}, [](auto, std::int64_t distance, auto) {
    return distance < 12 || distance % 96 == 0 ? 1.0 : 0.0;
  });
  EXPECT_GE(proposed(strides, 0.999).kept_mass, 0.999);
  EXPECT_EQ(profile::strong_strides(strides.sums, 0).front(), 96);
  EXPECT_EQ(proposed(attention_like("causal", {.length = 256}, ones), 1).expression, "full");
  EXPECT_EQ(proposed(attention_like("causal", {.length = 1}, ones), 0.95).expression, "full");
}

TEST(Propose, PricesStridesAndWholeLayersAsAttentionComputesThem) {
  const AttentionProfile profile = profile_with({attention_like(
      "causal", {.heads = 4, .length = 768}, [](std::int64_t head, std::int64_t distance, std::int64_t key) {
        return distance < 12 || (head < 2 ? distance % 96 == 0 : key < 2) ? 1.0 : 0.0;
      })});
  const LayoutCost cost;
  const auto layers = propose(profile, {.mass = 0.999, .length = 8192}, cost);
  const std::string& found = layers[0].expression;
  EXPECT_NE(found.find("stride(96)"), std::string::npos) << found;
  const pattern::Site& site = layers[0].base->site();
  EXPECT_EQ(site.query_length, 8192);
  const pattern::Pattern parsed = pattern::Pattern::parse(found);
  inspect::KernelRates keys;  // without a calibration: one for each key
  keys.key_seconds = keys.masked_key_seconds = 1;
  EXPECT_EQ(layers[0].cost, inspect::forward_seconds(inspect::computed_work(parsed, site, 64), keys));
  EXPECT_LT(layers[0].cost, 0.5 * cost.of(pattern::compile(parsed, site, {64, 64}), 64));
}

TEST(Propose, MergesHeadsThatAreAlike) {
  const auto weight = [](std::int64_t head, std::int64_t distance, auto) {
    return distance < (head < 3 ? 5 : 64) ? 1.0 : 0.0;
  };
  const AttentionProfile profile = profile_with({attention_like("causal", {.heads = 4, .length = 200}, weight)});
  const auto layers = propose(profile, {.mass = 0.99, .length = 4096}, LayoutCost());
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_EQ(layers[0].expression, "causal & heads(3 * window(left=4), 1 * window(left=63))");
  EXPECT_LT(layers[0].cost, 0.1 * layers[0].base_cost);
}

TEST(Propose, TwelveHeadsOfDifferentWidthsBecomeAShortLine) {
  const std::vector<std::int64_t> widths = {3, 4, 5, 4, 3, 60, 64, 58, 3, 4, 130, 128};
  const auto weight = [&](std::int64_t head, std::int64_t distance, std::int64_t key) {
    return distance < widths[static_cast<std::size_t>(head)] || (head % 3 == 0 && key < 1 + head / 6) ? 1.0 : 0.0;
  };
  const AttentionProfile profile = profile_with({attention_like("causal", {.heads = 12, .length = 400}, weight)});
  const LayoutCost cost;
  const auto apart = propose(profile, {.mass = 0.99, .slack = 0, .length = 4096}, cost);
  const auto merged = propose(profile, {.mass = 0.99, .length = 4096}, cost);
  std::set<std::string> patterns;
  double sum = 0;
  for (const HeadProposal& head : merged[0].heads) {
    patterns.insert(head.expression);
    sum += head.cost;
    EXPECT_GE(head.kept_mass, 0.99);
  }
  EXPECT_LE(patterns.size(), 4U);
  EXPECT_LT(merged[0].expression.size(), 200U) << merged[0].expression;
  EXPECT_LT(merged[0].expression.size(), apart[0].expression.size());
  EXPECT_NEAR(merged[0].cost, sum, 1e-6 * sum);
  EXPECT_LE(merged[0].cost, 1.12 * apart[0].cost);  // a slack of 10%, and columns for 1%
}

TEST(Propose, PricesCrossAttentionByBothLengths) {
  const LayoutCost cost;
  Part part = attention_like("full", {.length = 100, .keys = 400},
                             [](auto, std::int64_t distance, auto) { return std::abs(distance) <= 3 ? 1.0 : 0.0; });
  part.site.cross = true;
  part.site.name = "decoder.layers.0.cross";
  const LayerBase as_profiled(part, 0, cost);
  EXPECT_EQ(as_profiled.site().query_length, 100);
  EXPECT_EQ(as_profiled.site().key_length, 400);
  const LayerBase longer(part, 800, cost);
  EXPECT_EQ(longer.site().query_length, 200);
  EXPECT_EQ(longer.site().key_length, 800);
  pattern::Site site;
  site.query_length = 200;
  site.key_length = 800;
  EXPECT_EQ(longer.cost(), cost.of(pattern::Pattern::parse("full"), site, 64));
  const auto layers = propose(profile_with({part}), {.mass = 0.99, .attend = "cross"}, cost);
  EXPECT_EQ(layers[0].expression, "window(6)");
  EXPECT_THROW(propose(profile_with({part}), {.mass = 0.99, .attend = "cross", .rewire = true}, cost), Error);
  EXPECT_THROW(propose(profile_with({part}), {.mass = 0.99}, cost), Error);
}

}  // namespace
}  // namespace weft::test
