// SPDX-License-Identifier: Apache-2.0
// NaN and infinity on every path of the operator: which entries of the results and gradients are not finite, by the
// rules of docs/kernel.md. The kernels' own test is tests/kernels/not_finite_test.cpp.
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <array>
#include <limits>
#include <random>

#include "attention/small_calls.h"
#include "weft/core/error.h"

namespace weft::test {
namespace {

using attention::AttentionOptions;
using attention::Path;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kWithoutEnd = std::numeric_limits<double>::infinity();

struct SpoiledCase {
  const char* expression;
  Path path;
  at::ScalarType dtype;
  bool padded;
};

// Entries that are not finite, bool, in the shapes of output, log-sum-exp and the gradients of query, key and value.
struct LostEntries {
  at::Tensor output, log_sum_exp, query, key, value;
};

at::Tensor not_finite(const at::Tensor& tensor) { return at::isfinite(tensor).logical_not(); }

// The rules by the inputs alone. `edges` bool [B, H, Q, K]; all heads have keys of their own.
LostEntries lost_entries(const Tensors& tensors, const at::Tensor& gradient, const at::Tensor& edges) {
  const auto met = [](const at::Tensor& left, const at::Tensor& right) {
    return at::matmul(left.to(at::kDouble), right.to(at::kDouble)) > 0;
  };
  const at::Tensor has_edges = edges.any(-1, true);
  const at::Tensor rows =
      not_finite(tensors.query).any(-1, true).logical_or(met(edges, not_finite(tensors.key).any(-1, true)));
  const at::Tensor lost = rows.logical_and(has_edges);
  const at::Tensor output = met(edges, not_finite(tensors.value)).logical_or(lost);
  const at::Tensor incoming = not_finite(gradient).logical_and(has_edges);
  const at::Tensor spoiled = output.logical_or(incoming).any(-1, true);
  const at::Tensor seen_by = edges.transpose(2, 3);
  const auto all_columns = [](const at::Tensor& some, const at::Tensor& like) { return some.expand_as(like); };
  return {output, lost.squeeze(-1), all_columns(spoiled, tensors.query),
          all_columns(met(seen_by, spoiled), tensors.key), met(seen_by, incoming.logical_or(lost))};
}

at::Tensor edges_of(const SpoiledCase& about, std::int64_t heads, std::int64_t length) {
  const auto pattern = pattern::Pattern::parse(about.expression);
  pattern::Site site;
  site.query_length = site.key_length = length;
  site.heads = heads;
  at::Tensor edges = at::zeros({1, heads, length, length}, at::kBool);
  for (std::int64_t at = 0; at < heads * length * length; ++at) {
    site.head = at / (length * length);
    edges.mutable_data_ptr<bool>()[at] = pattern.multiplicity(site, at / length % length, at % length) > 0;
  }
  return edges;
}

// Output, log-sum-exp and the gradients of query, key and value.
std::vector<at::Tensor> results_of(const Tensors& tensors, const at::Tensor& gradient,
                                   const attention::LayoutPtr& layout, const AttentionOptions& options) {
  const auto leaf = [](const at::Tensor& tensor) { return tensor.detach().clone().requires_grad_(); };
  const std::vector<at::Tensor> leaves{leaf(tensors.query), leaf(tensors.key), leaf(tensors.value)};
  const auto result = attention::attention(leaves[0], leaves[1], leaves[2], layout, options);
  std::vector<at::Tensor> results = torch::autograd::grad({result.output}, leaves, {gradient});
  results.insert(results.begin(), {result.output.detach(), result.log_sum_exp});
  return results;
}

void expect_near_where_finite(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& exact,
                              double tolerance) {
  for (std::size_t at = 0; at < found.size(); ++at) {
    const at::Tensor skipped = not_finite(found[at]);
    const auto finite = [&](const at::Tensor& tensor) { return tensor.to(at::kDouble).masked_fill(skipped, 0.0); };
    const at::Tensor expected = finite(exact[at]);
    EXPECT_LT((finite(found[at]) - expected).abs().max().item<double>(),
              tolerance * (1 + expected.abs().max().item<double>()))
        << "result " << at;
  }
}

void expect_lost_entries(const SpoiledCase& about, std::uint64_t seed) {
  SCOPED_TRACE(
      concat(about.expression, " on ", attention::to_string(about.path), " in ", about.dtype, ", seed ", seed));
  constexpr std::int64_t kLength = 70;
  Tensors tensors = random_tensors({2, 2, kLength, 16}, about.dtype);
  at::Tensor gradient = at::randn({2, 2, kLength, 16}, about.dtype);
  std::mt19937_64 engine(seed);
  const auto draw = [&engine](std::uint64_t count) { return static_cast<std::int64_t>(engine() % count); };
  for (at::Tensor* tensor : {&tensors.query, &tensors.key, &tensors.value, &gradient}) {
    for (std::int64_t times = draw(3); times > 0; --times) {
      const double poison = std::array{kNotANumber, kWithoutEnd, -kWithoutEnd}[static_cast<std::size_t>(draw(3))];
      (*tensor)[draw(2)][draw(2)][draw(kLength)][draw(16)] = poison;
    }
  }
  const auto layout = layout_of(about.expression, kLength, 2);
  AttentionOptions options;
  options.path = about.path;
  at::Tensor edges = edges_of(about, 2, kLength).expand({2, 2, kLength, kLength});
  if (about.padded) {
    options.key_keep = at::ones({2, kLength}, at::kBool);
    options.key_keep[0].narrow(0, 50, 20).fill_(false);
    edges = edges.logical_and(options.key_keep.view({2, 1, 1, kLength}));
  }
  const LostEntries expected = lost_entries(tensors, gradient, edges);
  const std::vector<at::Tensor> found = results_of(tensors, gradient, layout, options);
  EXPECT_TRUE(not_finite(found[0]).equal(expected.output)) << "output";
  EXPECT_TRUE(found[1].isnan().equal(expected.log_sum_exp)) << "log_sum_exp";
  EXPECT_TRUE((found[1] == -kWithoutEnd).equal(edges.any(-1).logical_not())) << "rows without edges";
  EXPECT_TRUE(not_finite(found[2]).equal(expected.query)) << "gradient of the query";
  EXPECT_TRUE(not_finite(found[3]).equal(expected.key)) << "gradient of the key";
  EXPECT_TRUE(not_finite(found[4]).equal(expected.value)) << "gradient of the value";
  options.path = Path::kScalar;
  const auto exact = [](const at::Tensor& tensor) { return tensor.to(at::kDouble); };
  expect_near_where_finite(
      found,
      results_of({exact(tensors.query), exact(tensors.key), exact(tensors.value)}, exact(gradient), layout, options),
      about.dtype == at::kBFloat16 ? 0.03 : 1e-4);
}

TEST(NotFiniteNumbers, StayOnTheirEdgesOnEveryPath) {
  const SpoiledCase cases[] = {
      {"causal", Path::kAuto, at::kFloat, false},
      {"causal", Path::kAuto, at::kDouble, false},  // dense attention, where all is finite
      {"causal", Path::kScalar, at::kFloat, false},
      {"causal", Path::kPortable, at::kFloat, true},
      {"window(9) & !window(2)", Path::kAuto, at::kBFloat16, true},
      {"window(9) & !window(2)", Path::kPortable, at::kDouble, false},
      {"bigbird(block=8, random=1)", Path::kPortable, at::kFloat, true},
      {"bigbird(block=8, random=1)", Path::kScalar, at::kDouble, true},
      {"full", Path::kAuto, at::kDouble, false},
  };
  for (const SpoiledCase& about : cases) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      expect_lost_entries(about, seed);
    }
  }
}

TEST(NotFiniteNumbers, ScoresOfMinusInfinityAloneAreNaN) {
  for (const Path path : {Path::kAuto, Path::kPortable, Path::kScalar}) {
    Tensors tensors = random_tensors({1, 1, 20, 4});
    tensors.key.copy_(tensors.key.abs());
    tensors.query[0][0][7].fill_(-kWithoutEnd);
    const auto result = run(tensors, layout_of("window(9)", 20, 1), path);
    EXPECT_TRUE(result.output[0][0][7].isnan().all().item<bool>()) << attention::to_string(path);
    EXPECT_TRUE(result.log_sum_exp[0][0][7].isnan().item<bool>()) << attention::to_string(path);
    EXPECT_EQ(result.output.isnan().sum().item<std::int64_t>(), 4);
  }
}

// The rows of queries with a key 5 places before them, what they reach, and the distances that they have.
TEST(NotFiniteNumbers, OfATableReachTheRowsThatHaveTheirDistance) {
  for (const Path path : {Path::kAuto, Path::kPortable, Path::kScalar}) {
    const Tensors tensors = random_tensors({1, 1, 70, 8});
    AttentionOptions options;
    options.path = path;
    options.distances.scores = at::zeros({1, 30});
    options.distances.scores[0][5] = kNotANumber;
    options.distances.scores.requires_grad_();
    const at::Tensor query = tensors.query.clone().requires_grad_();
    const at::Tensor key = tensors.key.clone().requires_grad_();
    const auto layout = layout_of("window(18) & !window(2) & causal", 70, 1);
    const auto result = attention::attention(query, key, tensors.value, layout, options);
    EXPECT_EQ(result.output.isnan().sum().item<std::int64_t>(), 65 * 8) << attention::to_string(path);
    EXPECT_EQ(result.log_sum_exp.isnan().sum().item<std::int64_t>(), 65) << attention::to_string(path);
    const auto gradients = torch::autograd::grad({result.output.sum()}, {query, key, options.distances.scores});
    EXPECT_TRUE(gradients[0].isnan().any(-1).equal(result.log_sum_exp.isnan())) << attention::to_string(path);
    EXPECT_EQ(gradients[1].isnan().any(-1).sum().item<std::int64_t>(), 68) << attention::to_string(path);
    const at::Tensor entries = at::arange(30).view({1, 30});
    EXPECT_TRUE(gradients[2].isnan().equal((entries > 1).logical_and(entries < 10))) << attention::to_string(path);
  }
}

TEST(NotFiniteNumbers, ADecodedTokenHasTheRulesOfARow) {
  Tensors tensors = random_tensors({1, 1, 130, 8});
  const at::Tensor query = tensors.query.narrow(2, 0, 1).contiguous();
  const auto layout = [] {
    pattern::Site site;
    site.query_length = 1;
    site.key_length = 130;
    site.query_offset = 129;
    return std::make_shared<const attention::Layout>(pattern::compile(pattern::Pattern::parse("causal"), site, {1, 64}),
                                                     "causal");
  }();
  query.fill_(-kWithoutEnd);
  tensors.key.copy_(tensors.key.abs());
  const auto result = attention::attention(query, tensors.key, tensors.value, layout);
  EXPECT_TRUE(result.output.isnan().all().item<bool>());
  EXPECT_TRUE(result.log_sum_exp.isnan().all().item<bool>());
}

}  // namespace
}  // namespace weft::test
