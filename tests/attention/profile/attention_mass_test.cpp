// SPDX-License-Identifier: Apache-2.0
// The sums of a profile against the weights that the dense float64 oracle gives: patterns, lengths, padding, rows
// without an edge, offsets, multiplicities and distance tables.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

#include "attention/small_calls.h"
#include "support/expect_error.h"
#include "weft/attention/mechanism.h"
#include "weft/attention/profile/attention_mass.h"
#include "weft/attention/profile/global_rows.h"
#include "weft/core/error.h"

namespace weft::test {
namespace {

using profile::MassSums;

// Units as float64, in the shape that the numbers have.
at::Tensor numbers(const std::vector<std::int64_t>& units, at::IntArrayRef shape, double unit = profile::kMassUnit) {
  return at::tensor(units, at::kLong).view(shape).to(at::kDouble) * unit;
}

// Every sum from the probabilities [B, H, Q, K] of real queries, entry by entry.
void expect_sums(const MassSums& mass, const at::Tensor& weights, std::int64_t offset) {
  const std::int64_t heads = mass.shape().heads;
  const std::int64_t tile_size = mass.shape().tile;
  ASSERT_EQ(mass.queries(), offset + weights.size(2));
  ASSERT_EQ(mass.keys(), weights.size(3));
  const at::Tensor edge = at::zeros({heads, mass.queries(), mass.keys()}, at::kDouble);
  edge.narrow(1, offset, weights.size(2)).copy_(weights.sum(0));
  const at::Tensor tile = at::zeros({heads, mass.query_tiles(), mass.key_tiles()}, at::kDouble);
  const at::Tensor distance = at::zeros({heads, mass.distances()}, at::kDouble);
  auto tiles = tile.accessor<double, 3>();
  auto distances = distance.accessor<double, 2>();
  const auto edges = edge.accessor<double, 3>();
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t query = 0; query < mass.queries(); ++query) {
      for (std::int64_t key = 0; key < mass.keys(); ++key) {
        tiles[head][query / tile_size][key / tile_size] += edges[head][query][key];
        distances[head][query - key + mass.keys() - 1] += edges[head][query][key];
      }
    }
  }
  EXPECT_TRUE(at::allclose(numbers(mass.edge, edge.sizes()), edge, 0.0, 1e-6));
  EXPECT_TRUE(at::allclose(numbers(mass.tile, tile.sizes()), tile, 0.0, 1e-5));
  EXPECT_TRUE(at::allclose(numbers(mass.key, {heads, -1}), edge.sum(1), 0.0, 1e-5));
  EXPECT_TRUE(at::allclose(numbers(mass.distance, distance.sizes()), distance, 0.0, 1e-5));
  const at::Tensor entropy = -at::xlogy(weights, weights).sum({0, 2, 3});
  EXPECT_TRUE(at::allclose(numbers(mass.entropy, {heads}, profile::kEntropyUnit), entropy, 0.0, 2e-4));
  const at::Tensor rows = at::zeros({heads, mass.queries()}, at::kDouble);
  rows.narrow(1, offset, weights.size(2)).copy_((weights.sum(-1) > 0.5).sum(0));
  EXPECT_TRUE(at::equal(numbers(mass.rows, rows.sizes(), 1.0), rows));
  // A row sums to 1, whatever its precision: units are all that is lost.
  EXPECT_NEAR(numbers(mass.tile, {-1}).sum().item<double>(), rows.sum().item<double>(), 1e-7);
  EXPECT_NEAR(numbers(mass.distance, {-1}).sum().item<double>(), rows.sum().item<double>(), 1e-7);
  mass.check("the sums");
}

TEST(AttentionMass, EqualsTheDenseOracle) {
  const CallCase cases[] = {
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
  for (const CallCase& one : cases) {
    SCOPED_TRACE(one.expression);
    PatternCall made = call_of(one, 2);
    attention::MassCall& call = made.call;
    at::Tensor weights = probabilities(made);
    if (one.padded) {
      weights = weights * call.query_keep.to(at::kDouble).view({2, 1, -1, 1});
    }
    MassSums mass({.heads = 2, .tile = 16});
    attention::add_mass(mass, call);
    expect_sums(mass, weights, one.offset);
    // float64 is computed in float64, and half types as the kernels do.
    call.query = call.query.to(at::kDouble);
    call.key = call.key.to(at::kDouble);
    MassSums wide({.heads = 2, .tile = 16});
    attention::add_mass(wide, call);
    EXPECT_TRUE(at::allclose(numbers(wide.edge, {-1}), numbers(mass.edge, {-1}), 0.0, 1e-6));
  }
}

TEST(AttentionMass, EqualsTheProbabilitiesOfTransformerXl) {
  // A relative term, written out: Q2 R[distance], and beyond the ends of R the row at that end.
  const std::int64_t queries = 70;
  const std::int64_t keys = 90;
  const Tensors tensors = random_tensors({2, 2, keys, 8});
  attention::MassCall call{.query = tensors.query.narrow(2, 0, queries).contiguous(), .key = tensors.key};
  pattern::Site site;
  site.query_length = queries;
  site.key_length = keys;
  site.query_offset = keys - queries;
  site.heads = 2;
  call.layout = attention::cached_layout(pattern::Pattern::parse("window(left=50)"), site, {64, 64});
  call.scale = 0.4;
  call.relative = {at::randn({2, 2, queries, 8}), at::randn({2, 41, 8}), 3};
  const at::Tensor distance =
      (at::arange(keys - queries, keys).unsqueeze(1) - at::arange(keys).unsqueeze(0));  // [Q, K]
  const at::Tensor rows =
      call.relative.rows.to(at::kDouble).index({at::indexing::Slice(), (distance + 3).clamp(0, 40)});
  at::Tensor scores = at::matmul(call.query.to(at::kDouble), call.key.to(at::kDouble).transpose(2, 3));
  scores = scores + at::einsum("bhqd,hqkd->bhqk", {call.relative.query.to(at::kDouble), rows});
  const at::Tensor hidden = distance.lt(0).logical_or(distance.gt(50));
  const at::Tensor weights = (scores * 0.4).masked_fill(hidden, -INFINITY).softmax(-1);
  MassSums mass({.heads = 2, .tile = 16});
  attention::add_mass(mass, call);
  expect_sums(mass, weights, keys - queries);
}

TEST(AttentionMass, CountsQueriesWhereTheyStand) {
  const Tensors tensors = random_tensors({1, 2, 30, 8});
  const std::vector<std::int64_t> places = {3, 11, 29};
  attention::MassCall call{.query = tensors.query.index_select(2, at::tensor(places)), .key = tensors.key};
  pattern::Site site;
  site.query_length = 3;
  site.key_length = 30;
  site.heads = 2;
  call.layout = attention::cached_layout(pattern::Pattern::parse("full"), site, {64, 64});
  call.positions = places;
  MassSums picked({.heads = 2, .tile = 16});
  attention::add_mass(picked, call);
  // The same queries of a whole text.
  attention::MassCall whole{.query = tensors.query, .key = tensors.key, .layout = layout_of("full", 30, 2)};
  whole.query_keep = at::zeros({1, 30}, at::kBool).index_fill(1, at::tensor(places), true);
  MassSums expected({.heads = 2, .tile = 16});
  attention::add_mass(expected, whole);
  EXPECT_EQ(picked.rows, expected.rows);
  EXPECT_TRUE(at::allclose(numbers(picked.edge, {-1}), numbers(expected.edge, {-1}), 0.0, 1e-6));
  EXPECT_TRUE(at::allclose(numbers(picked.distance, {-1}), numbers(expected.distance, {-1}), 0.0, 1e-6));
}

// Keeps what it is shown.
class SumsOfCalls final : public attention::AttentionObserver {
 public:
  void observe(const attention::ObservedCall& seen) override { attention::add_mass(sums, seen.call); }
  MassSums sums{{.heads = 2, .tile = 16}};
};

TEST(AttentionMass, IsShownWhatMechanismsCompute) {
  constexpr std::int64_t kQueries = 25;
  constexpr std::int64_t kKeys = 40;
  for (const char* expression : {"relative", "relative(left=20, clamp=15)", "span(max=40, ramp=8, init=10)",
                                 "window(left=9) | global(first=2)", "full"}) {
    for (const bool causal : {true, false}) {
      SCOPED_TRACE(concat(expression, causal ? ", causal" : ""));
      at::manual_seed(7);
      const attention::MechanismSite site{.heads = 2, .head_dim = 8, .maximum_length = kKeys, .causal = causal};
      const auto mechanism = attention::make_attention(expression, site);
      mechanism->eval();
      const at::NoGradGuard without_gradients;
      for (const at::Tensor& parameter : mechanism->parameters()) {
        if (parameter.numel() > 2) {  // not the spans
          parameter.normal_(0.0, 0.5);
        }
      }
      const std::int64_t offset = causal ? kKeys - kQueries : 0;
      const std::int64_t queries = causal ? kQueries : kKeys;
      const at::Tensor query = at::randn({2, 2, queries, 8});
      const at::Tensor key = at::randn({2, 2, kKeys, 8});
      attention::AttentionContext context;
      context.query_offset = offset;
      context.rows = {{{}, queries, kKeys}, {{}, queries - 6, kKeys - 6}};  // the second text is shorter
      const at::Tensor weights = mechanism->weights(query, key, context);
      SumsOfCalls watcher;
      context.observer = &watcher;
      mechanism->forward(query, key, key, context);
      expect_sums(watcher.sums, weights.to(at::kDouble), offset);
    }
  }
}

TEST(AttentionMass, ShowsGlobalRowsAsTheyAreComputed) {
  // Values are the columns of the identity, so that the rows of global positions are their probabilities.
  constexpr std::int64_t kLength = 12;
  at::manual_seed(3);
  const at::Tensor identity = at::eye(kLength, at::kFloat);
  const at::Tensor hidden = identity.unsqueeze(0).repeat({2, 1, 1});
  const auto random = [&] {
    return attention::LinearWeights{at::randn({2 * kLength, kLength}), at::randn({2 * kLength})};
  };
  const attention::GlobalProjection projection{random(), random(), {identity.repeat({2, 1}), {}}, 2};
  SumsOfCalls watcher;
  attention::AttentionContext context;
  context.observer = &watcher;
  context.rows.resize(2);
  context.rows[0].input = {5, 0};
  context.rows[1] = {{3}, 9, 9};
  context.key_keep = at::ones({2, kLength}, at::kBool);
  context.key_keep[0][7] = false;
  attention::AttentionOptions options;
  options.key_keep = context.key_keep;
  const at::Tensor rows =
      with_global_rows(at::zeros({2, 2, kLength, kLength}), hidden, context.rows, projection, options);
  // The local attention sees itself alone.
  attention::GlobalRowsObserver observer(context, hidden, projection);
  const Tensors local = random_tensors({2, 2, kLength, kLength});
  attention::MassCall call{.query = local.query, .key = local.key, .layout = layout_of("window(1)", kLength, 2)};
  call.scale = 1.0 / std::sqrt(static_cast<double>(kLength));
  observer.observe({{.heads = 2}, call, {}});
  at::Tensor expected = identity.expand({2, 2, -1, -1}).clone();
  for (const auto& [row, position] : {std::pair{0, 0}, {0, 5}, {1, 3}}) {
    expected[row].select(1, position).copy_(rows[row].select(1, position));
  }
  expect_sums(watcher.sums, expected.to(at::kDouble), 0);
}

TEST(AttentionMass, DoesNotDependOnThreadsOrOrder) {
  const Tensors tensors = random_tensors({3, 4, 100, 8});
  const Tensors longer = random_tensors({1, 4, 131, 8});
  const auto sums = [&](int threads, bool long_first) {
    const int before = at::get_num_threads();
    at::set_num_threads(threads);
    MassSums mass({.heads = 4, .edge_limit = 128});
    const auto add_long = [&] {
      attention::add_mass(mass, {.query = longer.query, .key = longer.key, .layout = layout_of("causal", 131, 4)});
    };
    if (long_first) {
      add_long();
    }
    attention::add_mass(mass, {.query = tensors.query, .key = tensors.key, .layout = layout_of("causal", 100, 4)});
    EXPECT_EQ(mass.has_edges(), !long_first);
    attention::add_mass(mass, {.query = tensors.key, .key = tensors.query, .layout = layout_of("causal", 100, 4)});
    if (!long_first) {
      add_long();
    }
    at::set_num_threads(before);
    return mass;
  };
  const MassSums one = sums(1, false);
  const MassSums two = sums(2, true);
  EXPECT_FALSE(one.has_edges());
  EXPECT_EQ(one.rows_of(3), 2 * 3 * 100 + 131);
  EXPECT_EQ(one.tile, two.tile);
  EXPECT_EQ(one.entropy, two.entropy);
  EXPECT_EQ(one.distance, two.distance);
  EXPECT_EQ(one.key, two.key);
  EXPECT_EQ(one.rows, two.rows);
}

TEST(AttentionMass, SaysWhatDoesNotFit) {
  const Tensors tensors = random_tensors({1, 2, 20, 8});
  const auto layout = layout_of("full", 20, 2);
  const auto expect_refused = [](ErrorKind kind, std::string_view word, std::int64_t heads,
                                 const attention::MassCall& call) {
    MassSums mass({.heads = heads});
    expect_error(kind, {word}, [&] { attention::add_mass(mass, call); });
  };
  const attention::MassCall good{.query = tensors.query, .key = tensors.key, .layout = layout};
  expect_refused(ErrorKind::kArgument, "3 heads", 3, good);
  attention::MassCall call = good;
  call.key_keep = at::ones({1, 20});
  expect_refused(ErrorKind::kArgument, "key_keep", 2, call);
  call = good;
  call.positions = {1, 2};
  expect_refused(ErrorKind::kArgument, "20 queries", 2, call);
  call = good;
  call.relative = {tensors.query, at::zeros({2, 3, 4}), 0};
  expect_refused(ErrorKind::kArgument, "relative", 2, call);
  call = good;
  call.key = tensors.key.clone();
  call.key[0][1][3][0] = std::nan("");
  expect_refused(ErrorKind::kNumeric, "NaN", 2, call);
  // Where it is padding it is nobody's business.
  call.key_keep = at::ones({1, 20}, at::kBool);
  call.key_keep[0][3] = false;
  MassSums mass({.heads = 2});
  EXPECT_NO_THROW(attention::add_mass(mass, call));
  EXPECT_EQ(mass.rows_of(1), 20);
}

}  // namespace
}  // namespace weft::test
