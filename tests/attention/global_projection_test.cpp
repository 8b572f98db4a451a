// SPDX-License-Identifier: Apache-2.0
// Global queries with projections of their own, against every key projected and a dense softmax, in float64.
#include "weft/attention/global_projection.h"

#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

#include "support/torch_fixture.h"
#include "weft/core/error.h"
#include "weft/kernels/dropout.h"

namespace weft::attention {
namespace {

using test::largest_difference;

struct Case {
  at::Tensor output, hidden_states, key_keep;
  std::vector<pattern::RowBinding> rows;
  GlobalProjection projection;
  double dropout = 0.0;

  std::vector<at::Tensor> leaves() const {
    return {output,
            hidden_states,
            projection.query.weight,
            projection.query.bias,
            projection.key.weight,
            projection.key.bias,
            projection.value.weight,
            projection.value.bias};
  }
};

LinearWeights random_linear(std::int64_t width) {
  return {at::randn({width, width}, at::kDouble).set_requires_grad(true),
          at::randn({width}, at::kDouble).set_requires_grad(true)};
}

Case random_case(std::vector<std::vector<std::int64_t>> positions, std::int64_t heads, std::int64_t head_dim) {
  const std::int64_t batch = static_cast<std::int64_t>(positions.size());
  const std::int64_t width = heads * head_dim;
  Case call;
  call.output = at::randn({batch, heads, 23, head_dim}, at::kDouble).set_requires_grad(true);
  call.hidden_states = at::randn({batch, 23, width}, at::kDouble).set_requires_grad(true);
  call.projection = {random_linear(width), random_linear(width), random_linear(width), heads};
  for (auto& row : positions) {
    call.rows.push_back({std::move(row), {}, {}});
  }
  return call;
}

at::Tensor run(const Case& call) {
  AttentionOptions options;
  options.key_keep = call.key_keep;
  options.dropout = call.dropout;
  options.seed = 77;
  return with_global_rows(call.output, call.hidden_states, call.rows, call.projection, options);
}

at::Tensor heads_of(const at::Tensor& x, const LinearWeights& linear, std::int64_t heads) {
  const at::Tensor y = at::linear(x, linear.weight, linear.bias);
  return y.view({y.size(0), y.size(1), heads, -1}).transpose(1, 2);
}

/// What kernels/dropout.h draws for offset 1, entry by entry.
at::Tensor dropout_multipliers(const Case& call, at::IntArrayRef sizes) {
  at::Tensor result = at::ones(sizes, at::kDouble);
  const kernels::Dropout dropout{static_cast<float>(call.dropout), 77, 1};
  auto entries = result.accessor<double, 4>();
  for (std::int64_t row = 0; row < sizes[0]; ++row) {
    for (std::int64_t head = 0; head < sizes[1]; ++head) {
      for (std::int64_t query = 0; query < sizes[2]; ++query) {
        kernels::DropoutRow draws(dropout, row, head, query);
        for (std::int64_t key = 0; key < sizes[3]; ++key) {
          entries[row][head][query][key] = draws.multiplier(key);
        }
      }
    }
  }
  return result;
}

/// All rows as if global, then chosen by position.
at::Tensor reference(const Case& call) {
  const std::int64_t heads = call.projection.heads;
  const at::Tensor query = heads_of(call.hidden_states, call.projection.query, heads);
  const at::Tensor key = heads_of(call.hidden_states, call.projection.key, heads);
  const at::Tensor value = heads_of(call.hidden_states, call.projection.value, heads);
  at::Tensor scores = at::matmul(query, key.transpose(2, 3)) / std::sqrt(static_cast<double>(query.size(3)));
  if (call.key_keep.defined()) {
    const double nothing = -std::numeric_limits<double>::infinity();
    scores = scores.masked_fill(call.key_keep.logical_not().view({-1, 1, 1, scores.size(3)}), nothing);
  }
  at::Tensor chosen = at::zeros({call.output.size(0), 1, call.output.size(2), 1}, at::kBool);
  for (std::size_t row = 0; row < call.rows.size(); ++row) {
    for (const std::int64_t position : call.rows[row].input) {
      chosen[static_cast<std::int64_t>(row)][0][position][0] = true;
    }
  }
  const at::Tensor probabilities = scores.softmax(-1) * dropout_multipliers(call, scores.sizes());
  return at::where(chosen, at::matmul(probabilities, value), call.output);
}

void expect_equal_with_gradients(const Case& call) {
  const at::Tensor expected = reference(call);
  const at::Tensor actual = run(call);
  // float64 sums of up to 23 products of width 12, in another order: about 1e-14 of values up to 30.
  EXPECT_LT(largest_difference(actual, expected), 1e-12);
  const at::Tensor direction = at::randn_like(expected);
  const auto wanted = torch::autograd::grad({expected}, call.leaves(), {direction});
  const auto found = torch::autograd::grad({actual}, call.leaves(), {direction});
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_LT(largest_difference(found[i], wanted[i]), 1e-11) << "gradient " << i;
  }
}

TEST(GlobalProjection, FewPositionsFoldTheProjections) {
  at::manual_seed(1);
  expect_equal_with_gradients(random_case({{3}, {22, 0}}, 3, 4));
}

TEST(GlobalProjection, ManyPositionsProjectTheKeys) {
  at::manual_seed(2);
  std::vector<std::int64_t> all(23);
  std::iota(all.begin(), all.end(), 0);
  expect_equal_with_gradients(random_case({all, {1, 2, 3, 4, 5, 6, 7, 8, 9}}, 3, 4));
}

TEST(GlobalProjection, PaddedKeysAreNotSeenEvenWhenTheyHoldNaN) {
  at::manual_seed(3);
  Case call = random_case({{3, 7}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}, 3, 4);
  call.key_keep = at::ones({2, 23}, at::kBool);
  call.key_keep.slice(1, 15).fill_(false);
  expect_equal_with_gradients(call);
  const at::Tensor expected = run(call);
  at::NoGradGuard no_grad;
  call.hidden_states.slice(1, 15).fill_(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(largest_difference(run(call), expected), 0.0);
}

TEST(GlobalProjection, DropoutIsThatOfTheKernels) {
  at::manual_seed(7);
  Case call = random_case({{3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 22}}, 3, 4);
  call.dropout = 0.25;
  expect_equal_with_gradients(call);
}

TEST(GlobalProjection, ShortRowsSeeTheirOwnKeysOnly) {
  at::manual_seed(4);
  Case call = random_case({{3, 7}, {2}}, 2, 3);
  call.key_keep = at::ones({2, 23}, at::kBool);
  call.key_keep[1].slice(0, 9).fill_(false);
  const at::Tensor expected = run(call);
  call.key_keep = at::Tensor();
  call.rows[1].query_length = call.rows[1].key_length = 9;
  EXPECT_LT(largest_difference(run(call), expected), 1e-13);
}

TEST(GlobalProjection, RepeatedPositionsCountOnce) {
  at::manual_seed(5);
  Case call = random_case({{7, 3, 7}}, 2, 3);
  expect_equal_with_gradients(call);
}

TEST(GlobalProjection, NoPositionsChangeNothing) {
  const Case call = random_case({{}, {}}, 2, 3);
  EXPECT_TRUE(run(call).is_same(call.output));
}

TEST(GlobalProjection, RowsWithoutAKeyAreZeroAndSoAreTheirGradients) {
  Case call = random_case({{1}}, 2, 3);
  call.key_keep = at::zeros({1, 23}, at::kBool);
  const at::Tensor result = run(call);
  EXPECT_EQ(result.select(2, 1).abs().max().item<double>(), 0.0);
  const auto gradients = torch::autograd::grad({result.select(2, 1).sum()}, call.leaves(), {}, {}, false, true);
  for (const at::Tensor& gradient : gradients) {
    EXPECT_TRUE(!gradient.defined() || gradient.abs().max().item<double>() == 0.0);
  }
}

TEST(GlobalProjection, HalfPrecisionAccumulatesInFloat32) {
  at::manual_seed(6);
  Case call = random_case({{3}, {22, 0}}, 3, 4);
  at::NoGradGuard no_grad;
  for (at::Tensor* tensor : {&call.output, &call.hidden_states, &call.projection.query.weight,
                             &call.projection.query.bias, &call.projection.key.weight, &call.projection.key.bias,
                             &call.projection.value.weight, &call.projection.value.bias}) {
    *tensor = tensor->to(at::kBFloat16).to(at::kDouble);
  }
  const at::Tensor expected = run(call);
  for (at::Tensor* tensor : {&call.output, &call.hidden_states}) {
    *tensor = tensor->to(at::kBFloat16);
  }
  const at::Tensor actual = run(call);
  EXPECT_EQ(actual.scalar_type(), at::kBFloat16);
  // Only the result is rounded: half a unit in the last of 8 bits.
  EXPECT_LT(((actual.to(at::kDouble) - expected).abs() / expected.abs().clamp_min(0.1)).max().item<double>(), 4.1e-3);
}

TEST(GlobalProjection, MistakesAreNamed) {
  const auto message = [](const Case& call) {
    try {
      run(call);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message(random_case({{23}}, 2, 3)), "a global position must lie in [0, 23), found 23");
  EXPECT_EQ(message(random_case({{-1}}, 2, 3)), "a global position must lie in [0, 23), found -1");
  Case call = random_case({{1}, {2}}, 2, 3);
  call.rows.pop_back();
  EXPECT_EQ(message(call), "global positions are bound for 1 rows, the batch has 2");
  call = random_case({{1}}, 2, 3);
  call.projection.heads = 3;
  EXPECT_EQ(message(call), "the global projections have 3 heads, the output has 2");
  call = random_case({{1}}, 2, 3);
  call.projection.key.weight = at::ones({6, 5}, at::kDouble);
  EXPECT_EQ(message(call), "the global key projection's weight must be [6, 6], found [6, 5]");
  call = random_case({{1}}, 2, 3);
  call.key_keep = at::ones({1, 22}, at::kBool);
  EXPECT_EQ(message(call), "key_keep must be [1, 23], found [1, 22]");
}

}  // namespace
}  // namespace weft::attention
