// SPDX-License-Identifier: Apache-2.0
// The sums of a profile against the weights that the dense float64 oracle gives: patterns, lengths, padding, rows
// without an edge, offsets, multiplicities and distance tables.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

#include "attention/small_calls.h"
#include "weft/attention/profile/attention_mass.h"
#include "weft/core/error.h"

namespace weft::test {
namespace {

using attention::AttentionMass;

struct MassCase {
  const char* expression;
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t offset;
  pattern::Tile tile;
  bool padded;
  bool table;
};

// Probabilities [B, H, Q, K]: the oracle's output for the identity as values.
at::Tensor probabilities(const attention::MassCall& call, const pattern::Pattern& pattern, const pattern::Site& site) {
  attention::AttentionOptions options;
  options.scale = call.scale;
  options.key_keep = call.key_keep;
  options.distances = call.distances;
  const at::Tensor identity = at::eye(site.key_length, at::kDouble).expand({2, call.key.size(1), -1, -1});
  return attention::dense_oracle(call.query.to(at::kDouble), call.key.to(at::kDouble), identity, {pattern, site, {}},
                                 options);
}

// Every sum from the probabilities of real queries, entry by entry.
void expect_sums(const AttentionMass& mass, const at::Tensor& weights, std::int64_t offset) {
  const attention::MassShape& shape = mass.shape();
  AttentionMass expected(shape);
  const at::Tensor summed = weights.sum(0);  // [H, Q, K]
  expected.edge.narrow(1, offset, summed.size(1)).narrow(2, 0, summed.size(2)).copy_(summed);
  auto tile = expected.tile.accessor<double, 3>();
  auto keys = expected.key.accessor<double, 2>();
  auto distances = expected.distance.accessor<double, 2>();
  const auto edges = expected.edge.accessor<double, 3>();
  for (std::int64_t head = 0; head < shape.heads; ++head) {
    for (std::int64_t query = 0; query < shape.queries; ++query) {
      for (std::int64_t key = 0; key < shape.keys; ++key) {
        const double p = edges[head][query][key];
        tile[head][query / shape.tile][key / shape.tile] += p;
        keys[head][key] += p;
        distances[head][query - key + shape.keys - 1] += p;
      }
    }
  }
  expected.entropy = -at::xlogy(weights, weights).sum({0, 2, 3});
  expected.rows.narrow(1, offset, summed.size(1)).copy_((weights.sum(-1) > 0.5).sum(0));
  EXPECT_TRUE(at::allclose(mass.edge, expected.edge, 0.0, 1e-6));
  EXPECT_TRUE(at::allclose(mass.tile, expected.tile, 0.0, 1e-5));
  EXPECT_TRUE(at::allclose(mass.key, expected.key, 0.0, 1e-5));
  EXPECT_TRUE(at::allclose(mass.distance, expected.distance, 0.0, 1e-5));
  EXPECT_TRUE(at::allclose(mass.entropy, expected.entropy, 0.0, 1e-4));
  EXPECT_TRUE(at::equal(mass.rows, expected.rows));
  EXPECT_NEAR(mass.tile.sum().item<double>(), static_cast<double>(mass.rows.sum().item<std::int64_t>()), 1e-9);
}

TEST(AttentionMass, EqualsTheDenseOracle) {
  const MassCase cases[] = {
      {"causal", 37, 37, 0, {64, 64}, false, false},
      {"full", 70, 45, 0, {64, 64}, true, false},
      {"heads(causal & window(9), global(1) | window(3))", 67, 67, 0, {16, 32}, true, true},
      {"causal & stride(5)", 21, 50, 29, {1, 64}, false, true},
      {"window(left=4) & !segment(1)", 33, 33, 0, {7, 32}, false, false},  // the first row has no edge
      {"block(4, global(first=1, last=1) | window(3) | random(2, plan=\"hf-eval\"))",
       64,
       64,
       0,
       {64, 64},
       false,
       false},
  };
  for (const MassCase& one : cases) {
    SCOPED_TRACE(one.expression);
    at::manual_seed(5);
    const pattern::Pattern pattern = pattern::Pattern::parse(one.expression);
    pattern::Site site;
    site.query_length = one.queries;
    site.key_length = one.keys;
    site.query_offset = one.offset;
    site.heads = 2;
    attention::MassCall call{.query = at::randn({2, 2, one.queries, 8}), .key = at::randn({2, 1, one.keys, 8})};
    call.layout = std::make_shared<const attention::Layout>(pattern::compile(pattern, site, one.tile));
    call.scale = 0.7;
    if (one.padded) {
      call.key_keep = at::rand({2, one.keys}) < 0.7;
      call.query_keep = at::rand({2, one.queries}) < 0.7;
    }
    if (one.table) {
      call.distances = {at::randn({2, 2, 21}), 10};
    }
    at::Tensor weights = probabilities(call, pattern, site);
    if (one.padded) {
      weights = weights * call.query_keep.to(at::kDouble).view({2, 1, -1, 1});
    }
    AttentionMass mass({.heads = 2, .queries = 71, .keys = 73, .tile = 16, .edges = true});
    mass.add(call);
    expect_sums(mass, weights, one.offset);
  }
}

TEST(AttentionMass, AddsCallsInAFixedOrder) {
  const Tensors tensors = random_tensors({3, 4, 100, 8});
  const auto sums = [&](int threads) {
    const int before = at::get_num_threads();
    at::set_num_threads(threads);
    AttentionMass mass({.heads = 4, .queries = 100, .keys = 100});
    mass.add({.query = tensors.query, .key = tensors.key, .layout = layout_of("causal", 100, 4)});
    mass.add({.query = tensors.key, .key = tensors.query, .layout = layout_of("causal", 100, 4)});
    at::set_num_threads(before);
    return mass;
  };
  const AttentionMass one = sums(1);
  const AttentionMass two = sums(2);
  EXPECT_FALSE(one.edge.defined());
  EXPECT_EQ(one.rows.sum().item<std::int64_t>(), 2 * 3 * 4 * 100);
  EXPECT_TRUE(at::equal(one.tile, two.tile) && at::equal(one.entropy, two.entropy));
  EXPECT_TRUE(at::equal(one.distance, two.distance) && at::equal(one.key, two.key));
}

TEST(AttentionMass, SaysWhatDoesNotFit) {
  const Tensors tensors = random_tensors({1, 2, 20, 8});
  const auto layout = layout_of("full", 20, 2);
  EXPECT_THROW(AttentionMass({.heads = 0, .queries = 1, .keys = 1}), Error);
  EXPECT_THROW(AttentionMass({.heads = 64, .queries = 1 << 20, .keys = 1 << 20, .edges = true}), Error);
  AttentionMass shorter({.heads = 2, .queries = 19, .keys = 20});
  EXPECT_THROW(shorter.add({.query = tensors.query, .key = tensors.key, .layout = layout}), Error);
  AttentionMass mass({.heads = 2, .queries = 20, .keys = 20});
  EXPECT_THROW(mass.add({.query = tensors.query, .key = tensors.key, .layout = layout, .key_keep = at::ones({1, 20})}),
               Error);
  at::Tensor broken = tensors.key.clone();
  broken[0][1][3][0] = std::nan("");
  EXPECT_THROW(mass.add({.query = tensors.query, .key = broken, .layout = layout}), Error);
}

}  // namespace
}  // namespace weft::test
