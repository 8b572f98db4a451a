// SPDX-License-Identifier: Apache-2.0
// Pruning hand-made profiles: exact counts and ties, what is kept in any case, blocks and heads, the controls, the
// released code's count, and the file that is written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/profile/prune/prune_file.h"

namespace weft::test {
namespace {

using profile::AttentionProfile;
using profile::Part;
using profile::PruneResult;
using profile::PruneSettings;

struct Shape {
  std::string name = "layers.0.self";
  std::string expression = "causal";
  std::int64_t layer = 0;
  std::int64_t heads = 2;
  std::int64_t queries = 6;
  std::int64_t keys = 6;
  std::int64_t maximum_length = 0;
  std::int64_t tile = 64;
};

using MassOf = std::function<std::int64_t(std::int64_t head, std::int64_t query, std::int64_t key)>;

// A layer whose edges carry what `mass` says; rows are counted once each.
Part make_part(const Shape& shape, const MassOf& mass) {
  Part part;
  part.site.name = shape.name;
  part.site.layer = shape.layer;
  part.site.cross = shape.name.find("cross") != std::string::npos;
  part.site.causal = shape.expression.starts_with("causal");
  part.site.heads = shape.heads;
  part.site.head_dim = 8;
  part.site.expression = shape.expression;
  part.site.maximum_length = shape.maximum_length;
  part.sums = profile::MassSums({shape.heads, shape.tile, 1024});
  part.sums.grow(shape.queries, shape.keys);
  const profile::BaseGraph graph = profile::base_graph(part);
  profile::MassSums& sums = part.sums;
  const auto at = [](std::vector<std::int64_t>& numbers, std::int64_t place) -> std::int64_t& {
    return numbers.at(static_cast<std::size_t>(place));
  };
  for (std::int64_t head = 0; head < shape.heads; ++head) {
    profile::for_each_edge(graph.layout, head, [&](std::int64_t query, std::int64_t key) {
      const std::int64_t amount = mass(head, query, key);
      at(sums.rows, head * shape.queries + query) = 1;
      at(sums.edge, (head * shape.queries + query) * shape.keys + key) = amount;
      at(sums.key, head * shape.keys + key) += amount;
      at(sums.distance, head * sums.distances() + query - key + shape.keys - 1) += amount;
      at(sums.tile, (head * sums.query_tiles() + query / shape.tile) * sums.key_tiles() + key / shape.tile) += amount;
    });
  }
  return part;
}

AttentionProfile make_profile(std::vector<Part> parts, std::int64_t tile = 64) {
  AttentionProfile profile;
  profile.model = {.path = "run", .kind = "decoder", .digest = "d1"};
  profile.progress.complete = true;
  profile.tile = tile;
  profile.parts = std::move(parts);
  return profile;
}

std::vector<PruneResult> pruned(const AttentionProfile& profile, const PruneSettings& settings) {
  return profile::prune(profile, settings, profile::LayoutCost());
}

// The edges of a head that are kept, as "query,key".
std::vector<std::string> edges_of(const PruneResult& result, std::int64_t head) {
  std::vector<std::string> edges;
  profile::for_each_edge(result.layout, head,
                         [&](std::int64_t query, std::int64_t key) { edges.push_back(concat(query, ",", key)); });
  return edges;
}

// Of a causal layer over a longer text: behind the units that were seen every edge is there.
std::int64_t edges_at(const PruneResult& result, std::int64_t length) {
  const profile::Mask& mask = result.mask;
  const std::int64_t cell = mask.cell();
  std::int64_t edges = 0;
  for (std::int64_t head = 0; head < mask.heads(); ++head) {
    for (std::int64_t query = 0; query < length; ++query) {
      for (std::int64_t key = 0; key <= query; ++key) {
        const bool is_seen = query / cell < mask.rows() && key / cell < mask.columns();
        edges += !is_seen || mask.test(head, query / cell, key / cell) ? 1 : 0;
      }
    }
  }
  return edges;
}

TEST(Selection, KeepsTheNearestWholeNumberAndHasNoTies) {
  std::vector<profile::Candidate> candidates(15, {.score = 7, .mass = 7});
  for (std::uint64_t place = 0; place < candidates.size(); ++place) {
    candidates[place].place = place;
  }
  candidates[0].is_fixed = true;
  EXPECT_EQ(profile::select(candidates, 1, {.value = 0.3}), std::vector<std::int64_t>{5});  // 4.5, halves up
  EXPECT_EQ(candidates[0].place, 0U);
  EXPECT_EQ(candidates[1].place, 14U) << "of equal scores the last place is kept";
  EXPECT_EQ(profile::select(candidates, 1, {.kind = profile::Budget::Kind::kMass, .value = 0.5}),
            std::vector<std::int64_t>{8});  // 52.5 of 105
  expect_error(ErrorKind::kArgument, {"0 of 15", "0.0667"}, [&] { profile::select(candidates, 1, {.value = 0.01}); });
}

TEST(Selection, CountsAsTheReleasedCodeDoes) {
  // numpy.percentile([0, 0, 0, 1, 2, 3, 4, 4, 5, 9], 100 * share, method="nearest")
  std::vector<profile::Candidate> layer;
  for (const std::int64_t score : {9, 1, 4, 2, 5, 4, 3}) {
    layer.push_back({.score = score});
  }
  EXPECT_EQ(profile::released_threshold(layer, 10, 0.2), 0);  // index 1.8
  EXPECT_EQ(profile::released_threshold(layer, 10, 0.5), 2);  // 4.5, the even index
  EXPECT_EQ(profile::released_threshold(layer, 10, 0.9), 5);  // 8.1
  EXPECT_EQ(profile::released_threshold(layer, 10, 1.0), 9);
}

TEST(Prune, KeepsExactlySoManyEdges) {
  // 21 edges a head; heads and layers tell apart who is ranked higher.
  const auto mass = [](std::int64_t head, std::int64_t query, std::int64_t key) {
    return 1000 * (head + 1) + 10 * query + key;
  };
  const AttentionProfile profile =
      make_profile({make_part({}, mass), make_part({.name = "layers.1.self", .layer = 1}, mass)});
  for (const double density : {0.3, 0.5, 0.77, 1.0}) {
    const auto results = pruned(profile, {.density = density});
    EXPECT_EQ(results[0].kept_units + results[1].kept_units, std::llround(density * 84)) << density;
    EXPECT_EQ(results[0].kept_edges, results[0].kept_units);
    const auto by_head = pruned(profile, {.density = density, .scope = "head"});
    EXPECT_EQ(by_head[0].layout.group_edges, std::vector<std::int64_t>(2, std::llround(density * 21))) << density;
  }
  // Each row keeps the diagonal; behind it the last rows of head 1 come first.
  const auto few = pruned(profile, {.density = 25.0 / 84});
  EXPECT_EQ(edges_of(few[0], 0), (std::vector<std::string>{"0,0", "1,1", "2,2", "3,3", "4,4", "5,5"}));
  EXPECT_EQ(edges_of(few[1], 1), (std::vector<std::string>{"0,0", "1,1", "2,2", "3,3", "4,4", "5,4", "5,5"}))
      << "of the equal ones of two layers the upper layer's go first";
  // Without it, each row keeps its best.
  const auto best = pruned(profile, {.density = 24.0 / 84, .diagonal = false});
  EXPECT_EQ(best[0].emptied_rows + best[1].emptied_rows, 0);
  EXPECT_EQ(best[0].kept_edges + best[1].kept_edges, 24);
  expect_error(ErrorKind::kArgument, {"24 already", "0.2858"}, [&] { pruned(profile, {.density = 0.1}); });
}

TEST(Prune, CountsOnlyEdgesOfThePatternAndRowsThatWereSeen) {
  Part part =
      make_part({.expression = "window(2)", .heads = 1, .queries = 7, .keys = 5}, [](auto, auto, auto) { return 5; });
  part.sums.rows[0] = 0;  // never seen: keeps both of its edges
  const AttentionProfile profile = make_profile({part});
  const auto results = pruned(profile, {.density = 0.5});
  EXPECT_EQ(results[0].units, 12);  // rows 1 to 5 have 3, 3, 3, 2 and 1
  EXPECT_EQ(results[0].kept_units, 6);
  EXPECT_EQ(results[0].edges, 14);
  EXPECT_EQ(results[0].kept_edges, 8);
  const auto kept = edges_of(results[0], 0);
  EXPECT_EQ(std::count(kept.begin(), kept.end(), "0,0") + std::count(kept.begin(), kept.end(), "0,1"), 2);
}

TEST(Prune, KeepsAShareOfTheMass) {
  const AttentionProfile profile = make_profile({make_part({.heads = 1}, [](auto, auto query, auto key) {
    return query == key ? 60 : query - key == 1 ? 30 : 10;
  })});
  const auto results = pruned(profile, {.mass = 0.9});  // 6 * 60 + 5 * 30 + 10 * 10 = 610, of which 549
  EXPECT_EQ(results[0].kept_mass, 550);
  EXPECT_EQ(results[0].kept_units, 6 + 5 + 4);
}

TEST(Prune, RanksByTheMeanOfTheRowsThatWereThere) {
  Part part = make_part({.expression = "full", .heads = 1, .queries = 2, .keys = 3},
                        [](auto, auto query, auto key) { return query == 0 ? 80 + key : 30 + key; });
  part.sums.rows = {10, 1};  // 8 and 30 a row
  const AttentionProfile profile = make_profile({part});
  EXPECT_EQ(edges_of(pruned(profile, {.density = 0.5, .diagonal = false})[0], 0),
            (std::vector<std::string>{"0,1", "0,2", "1,2"}));
  EXPECT_EQ(edges_of(pruned(profile, {.density = 0.5, .rank = "mean", .diagonal = false})[0], 0),
            (std::vector<std::string>{"0,2", "1,1", "1,2"}));
}

TEST(Prune, CausalZerosAndTiesOfTheReleasedCode) {
  // One head of 6 x 6 entries, 15 of them no edge; masses 1 to 21.
  std::int64_t next = 0;
  const AttentionProfile profile = make_profile({make_part({.heads = 1}, [&](auto, auto, auto) { return ++next; })});
  const auto results = pruned(profile, {.density = 0.1, .released = true});
  // Index round(0.9 * 35) = 32 (31.5 is halfway, to the even one), which is the mass 18: 19, 20 and 21 are above it.
  EXPECT_EQ(results[0].kept_units, 3);
  EXPECT_EQ(results[0].emptied_rows, 5);
  const auto half = pruned(profile, {.density = 0.7, .released = true});  // index 10.5 -> 10: a zero
  EXPECT_EQ(half[0].kept_units, 21) << "30% of all entries are causal zeros";
}

TEST(Prune, BlocksByMassForTheirTime) {
  const Shape shape{.expression = "causal", .heads = 1, .queries = 160, .keys = 160};
  // The first column of blocks carries most; 160 = 2 1/2 blocks.
  const AttentionProfile profile =
      make_profile({make_part(shape, [](auto, auto, auto key) { return key < 64 ? 10 : 1; })});
  const auto results = pruned(profile, {.density = 4.0 / 6, .unit = "block"});
  EXPECT_EQ(results[0].units, 6);
  EXPECT_EQ(results[0].kept_units, 4);  // three of the diagonal, and the first below it
  EXPECT_TRUE(results[0].mask.test(0, 1, 0));
  EXPECT_FALSE(results[0].mask.test(0, 2, 1));
  EXPECT_EQ(results[0].kept_edges, 64 * 65 / 2 + 64 * 64 + 64 * 65 / 2 + 32 * 33 / 2);
  EXPECT_LT(results[0].kept_cost, results[0].cost);
  const auto timed = pruned(profile, {.time = results[0].kept_cost / results[0].cost + 1e-9, .unit = "block"});
  EXPECT_EQ(timed[0].kept_units, 4);
  expect_error(ErrorKind::kArgument, {"blocks of 96", "tiles of 64"},
               [&] { pruned(profile, {.density = 1, .unit = "block", .block = 96}); });
  const AttentionProfile small = make_profile(
      {make_part({.heads = 1, .queries = 40, .keys = 40, .tile = 16}, [](auto, auto, auto) { return 1; })}, 16);
  const auto sixteen = pruned(small, {.density = 0.5, .unit = "block", .block = 16});
  EXPECT_EQ(sixteen[0].units, 6);
  EXPECT_EQ(sixteen[0].kept_units, 3);
}

TEST(Prune, WholeHeads) {
  std::vector<Part> parts;
  for (std::int64_t layer = 0; layer < 2; ++layer) {
    parts.push_back(make_part({.name = concat("layers.", layer, ".self"), .layer = layer, .heads = 3},
                              [](auto, auto, auto) { return 1; }));
    parts.back().sums.entropy = layer == 0 ? std::vector<std::int64_t>{5, 1, 9} : std::vector<std::int64_t>{90, 80, 99};
  }
  const AttentionProfile profile = make_profile(std::move(parts));
  const auto results = pruned(profile, {.density = 0.5, .unit = "head"});
  EXPECT_EQ(results[0].is_head_kept, (std::vector<bool>{true, true, false}));
  EXPECT_EQ(results[1].is_head_kept, (std::vector<bool>{false, true, false})) << "each layer keeps its sharpest";
  expect_error(ErrorKind::kArgument, {"every head sum"}, [&] { pruned(profile, {.mass = 0.5, .unit = "head"}); });
}

TEST(Prune, ControlsOfEqualDensityAndCost) {
  const auto mass = [](std::int64_t head, std::int64_t query, std::int64_t key) { return head == 0 ? 9 : query * key; };
  const AttentionProfile profile = make_profile({make_part({.queries = 30, .keys = 30}, mass)});
  const auto results = pruned(profile, {.density = 0.4});
  const auto random = pruned(profile, {.density = 0.4, .control = "random", .seed = 3});
  EXPECT_EQ(random[0].layout.group_edges, results[0].layout.group_edges);
  EXPECT_NE(edges_of(random[0], 1), edges_of(results[0], 1));
  EXPECT_EQ(edges_of(random[0], 1), edges_of(pruned(profile, {.density = 0.4, .control = "random", .seed = 3})[0], 1));
  EXPECT_NE(edges_of(random[0], 1), edges_of(pruned(profile, {.density = 0.4, .control = "random", .seed = 4})[0], 1));
  const auto window = pruned(profile, {.density = 0.4, .control = "window"});
  // 372 of 930 edges; two heads with a window to the left of 6 have 2 * (30 + 29 + ... + 24) = 378, of 5 330.
  EXPECT_EQ(window[0].window, 5);
  EXPECT_EQ(window[0].kept_edges, 330);
}

TEST(Prune, WritesPatternsThatMeanWhatWasKept) {
  const TemporaryDirectory directory;
  const auto profile_path = directory.path() / "profile.safetensors";
  const auto mass = [](std::int64_t head, std::int64_t query, std::int64_t key) { return 1 + head + query * key % 7; };
  AttentionProfile profile = make_profile(
      {make_part({.queries = 70, .keys = 70, .maximum_length = 100}, mass),
       make_part({.name = "layers.1.self", .layer = 1, .heads = 1, .queries = 70, .keys = 70, .maximum_length = 100},
                 mass)});
  profile::write_profile(profile_path, profile);
  for (const char* unit : {"edge", "block"}) {
    const PruneSettings settings{.density = 0.7, .unit = unit};
    const auto results = pruned(profile, settings);
    const auto path = directory.path() / concat(unit, ".json");
    const auto json = profile::write_prune(path, {profile, profile_path, directory.path(), settings}, results);
    EXPECT_EQ(json.at("density").get<double>() > 0.6, true);
    const profile::PrunedPatterns read = profile::read_prune(path);
    EXPECT_EQ(read.model_digest, "d1");
    ASSERT_EQ(read.lists.size(), 1U);
    ASSERT_EQ(read.lists[0].expressions.size(), 2U);
    for (std::size_t layer = 0; layer < 2; ++layer) {
      const auto pattern = pattern::Pattern::parse(read.lists[0].expressions[layer], read.directory);
      pattern::Site site = results[layer].layer.graph.site;
      EXPECT_EQ(pattern::compile(pattern, site, {}).edges(), results[layer].kept_edges) << unit;
      site.query_length = site.key_length = 100;
      EXPECT_EQ(pattern::compile(pattern, site, {}).edges(), edges_at(results[layer], 100)) << unit;
    }
  }
  write_file_atomically(directory.path() / "other.json", "{}");
  expect_error(ErrorKind::kFormat, {"other.json"}, [&] { profile::read_prune(directory.path() / "other.json"); });
}

TEST(Prune, PartsOfAnEncoderDecoderApart) {
  const TemporaryDirectory directory;
  const auto profile_path = directory.path() / "profile.safetensors";
  const auto mass = [](std::int64_t head, std::int64_t query, std::int64_t key) { return 1 + head + query * key % 5; };
  AttentionProfile profile = make_profile({
      make_part({.name = "encoder.layers.0.self", .expression = "full", .queries = 9, .keys = 9, .maximum_length = 20},
                mass),
      make_part({.name = "decoder.layers.0.self", .queries = 7, .keys = 7, .maximum_length = 12}, mass),
      make_part({.name = "decoder.layers.0.cross", .expression = "full", .queries = 7, .keys = 9, .maximum_length = 12},
                mass),
  });
  profile.model.kind = "encoder-decoder";
  profile::write_profile(profile_path, profile);
  const PruneSettings settings{.density = 0.4, .attend = "cross"};
  const auto results = pruned(profile, settings);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].kept_units, 50);  // of 2 * 63; each row keeps its best
  EXPECT_EQ(results[0].emptied_rows, 0);
  const auto path = directory.path() / "cross.json";
  profile::write_prune(path, {profile, profile_path, directory.path(), settings}, results);
  const profile::PrunedPatterns read = profile::read_prune(path);
  EXPECT_EQ(read.find("encoder_attention")->expressions, std::vector<std::string>{"full"});
  EXPECT_EQ(read.find("decoder_attention")->expressions, std::vector<std::string>{"causal"});
  const auto cross = pattern::Pattern::parse(read.find("cross_attention")->expressions[0], read.directory);
  pattern::Site site{.query_length = 12, .key_length = 20, .heads = 2};  // the longest target and source
  EXPECT_EQ(pattern::compile(cross, site, {}).edges(), 2 * (12 * 20 - 7 * 9) + 50);
  EXPECT_EQ(pruned(profile, {.density = 0.4, .attend = "both"}).size(), 3U);
}

}  // namespace
}  // namespace weft::test
