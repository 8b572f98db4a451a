// SPDX-License-Identifier: Apache-2.0
// Stacks that windows took apart are connected again, with no more layers than it takes, and within what they had.
#include "weft/profile/propose/rewire.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "profile/attention_like.h"
#include "weft/core/error.h"

namespace weft::test {
namespace {

using profile::AttentionProfile;
using profile::LayerProposal;
using profile::LayoutCost;
using profile::Part;
using profile::ProposeSettings;

double near(std::int64_t, std::int64_t distance, std::int64_t) { return std::abs(distance) <= 2 ? 1.0 : 0.0; }

std::vector<Part> layers_like(const Part& part, std::int64_t count, const std::string& stack = {}) {
  std::vector<Part> layers(static_cast<std::size_t>(count), part);
  for (std::int64_t layer = 0; layer < count; ++layer) {
    Part& made = layers[static_cast<std::size_t>(layer)];
    made.site.layer = layer;
    made.site.name = stack + "layers." + std::to_string(layer) + ".self";
  }
  return layers;
}

std::int64_t rewired_layers(const std::vector<LayerProposal>& layers) {
  return std::count_if(layers.begin(), layers.end(), [](const LayerProposal& layer) { return !layer.rewired.empty(); });
}

TEST(Rewire, ConnectsAgainWhatWindowsTookApartInAsFewLayersAsItTakes) {
  const AttentionProfile profile =
      profile_with(layers_like(attention_like("full", {.heads = 2, .length = 300}, near), 3));
  const LayoutCost cost;
  const ProposeSettings plain{.mass = 0.99};
  EXPECT_LT(connection(propose(profile, plain, cost), plain).reach, 0.1);
  const ProposeSettings wanted{.mass = 0.99, .rewire = true};
  const auto layers = propose(profile, wanted, cost);
  EXPECT_GE(connection(layers, wanted).reach, 0.999);
  // One position hears of all in a layer, and all hear of it in a later one.
  EXPECT_EQ(rewired_layers(layers), 2);
  for (const LayerProposal& layer : layers) {
    EXPECT_EQ(layer.rewired.empty() ? "global(1)" : layer.rewired, "global(1)");
    EXPECT_EQ(layer.expression.find("global(1)") == std::string::npos, layer.rewired.empty()) << layer.expression;
    EXPECT_EQ(layer.cost, layer.base->cost_of(layer.expression));
  }
}

TEST(Rewire, GivesEveryLayerTheGapThatIsAskedFor) {
  const AttentionProfile profile =
      profile_with(layers_like(attention_like("full", {.heads = 2, .length = 200}, near), 3));
  const LayoutCost cost;
  const ProposeSettings wanted{.mass = 0.99, .rewire = true, .gap = 0.02};
  const auto layers = propose(profile, wanted, cost);
  EXPECT_EQ(rewired_layers(layers), 3);
  EXPECT_GE(connection(layers, wanted).gap, 0.02);
  const AttentionProfile narrow = profile_with(layers_like(attention_like("window(40)", {.length = 200}, near), 3));
  EXPECT_THROW(propose(narrow, {.mass = 0.99, .rewire = true, .gap = 0.9}, cost), Error);
}

TEST(Rewire, MeasuresTextsBeyondFourThousandTokens) {
  const AttentionProfile profile = profile_with(layers_like(attention_like("full", {.length = 300}, near), 2));
  const LayoutCost cost;
  const ProposeSettings wanted{.mass = 0.99, .length = 5000, .rewire = true};
  const auto layers = propose(profile, wanted, cost);
  EXPECT_EQ(layers[0].base->site().query_length, 5000);
  EXPECT_GE(connection(layers, wanted).reach, 0.999);
  EXPECT_THROW(propose(profile, {.mass = 0.99, .length = 20000, .rewire = true}, cost), Error);
}

TEST(Rewire, TakesTheStacksOfAnEncoderDecoderApart) {
  std::vector<Part> parts = layers_like(attention_like("full", {.length = 300}, near), 2, "encoder.");
  for (const Part& part : layers_like(attention_like("causal", {.length = 120}, near), 2, "decoder.")) {
    parts.push_back(part);
  }
  parts.push_back(attention_like("full", {.length = 120, .keys = 300}, near));
  parts.back().site.name = "decoder.layers.0.cross";
  parts.back().site.cross = true;
  const AttentionProfile profile = profile_with(std::move(parts));
  const LayoutCost cost;
  const ProposeSettings wanted{.mass = 0.99, .attend = "both", .rewire = true};
  const auto layers = propose(profile, wanted, cost);
  EXPECT_GE(connection(layers, wanted).reach, 0.999);
  EXPECT_TRUE(layers.back().rewired.empty());
}

TEST(Rewire, AddsNoEdgeThatTheLayersDidNotHave) {
  const std::string base = "window(40) | global(at=[7])";
  const AttentionProfile profile = profile_with(layers_like(attention_like(base, {.length = 300}, near), 3));
  const LayoutCost cost;
  const ProposeSettings wanted{.mass = 0.99, .rewire = true};
  const auto layers = propose(profile, wanted, cost);
  EXPECT_GE(connection(layers, wanted).reach, 0.999);
  for (const LayerProposal& layer : layers) {
    const auto outside = pattern::Pattern::parse("(" + layer.expression + ") & !(" + base + ")");
    EXPECT_EQ(pattern::compile(outside, layer.base->site(), {64, 64}).edges(), 0) << layer.expression;
    EXPECT_LE(layer.cost, layer.base_cost);
  }
}

}  // namespace
}  // namespace weft::test
