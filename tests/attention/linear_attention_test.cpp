// SPDX-License-Identifier: Apache-2.0
// Linear attention, and random feature attention behind it, against their equations in float64; gradients, the past
// alone, padding, memory.
#include <gtest/gtest.h>

#include <ATen/autocast_mode.h>
#include <cmath>

#include <limits>
#include <random>

#include "attention/mechanism_checks.h"
#include "attention/small_calls.h"
#include "support/expect_error.h"
#include "support/torch_gradcheck.h"
#include "support/torch_memory.h"
#include "weft/attention/mechanism.h"
#include "weft/attention/mechanisms/linear/decayed_product.h"

namespace weft::test {
namespace {

using attention::AttentionContext;
using attention::make_attention;
using attention::MechanismSite;

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

std::shared_ptr<attention::AttentionImpl> linear(std::int64_t heads, bool causal, const std::string& map = "elu") {
  MechanismSite site;
  site.heads = heads;
  site.causal = causal;
  return make_attention("linear(map=" + map + ")", site);
}

/// The feature map, column by column for dpfp (Schlag, Irie and Schmidhuber 2021, equation 37 with nu = 1).
at::Tensor phi(const std::string& map, const at::Tensor& x) {
  const at::Tensor above = at::where(x > 0, x, 0.0);
  if (map == "elu") {
    return at::where(x > 0, x + 1, at::exp(x));
  }
  if (map == "relu") {
    return above;
  }
  if (map == "square") {
    return above * above;
  }
  const at::Tensor both = at::cat({above, at::where(x < 0, -x, 0.0)}, -1);
  std::vector<at::Tensor> columns;
  for (std::int64_t i = 0; i < both.size(-1); ++i) {
    columns.push_back(both.select(-1, i) * both.select(-1, i > 0 ? i - 1 : both.size(-1) - 1));
  }
  return at::stack(columns, -1);
}

// Katharopoulos et al. 2020, equation 4 with the similarity phi(q) . phi(k): all pairs, [B, H, Q, K].
at::Tensor equations(const Tensors& tensors, bool causal, const AttentionContext& context = {},
                     const std::string& map = "elu") {
  const std::int64_t heads = tensors.query.size(1);
  const auto wide = [&](const at::Tensor& tensor) {
    return tensor.to(at::kDouble).repeat_interleave(heads / tensor.size(1), 1);
  };
  at::Tensor weights = at::matmul(phi(map, wide(tensors.query)), phi(map, wide(tensors.key)).transpose(2, 3));
  if (context.key_keep.defined()) {
    weights = weights * context.key_keep.unsqueeze(1).unsqueeze(1);
  }
  if (causal) {
    weights = weights.tril(context.query_offset);
  }
  return at::matmul(weights, wide(tensors.value)) / (weights.sum(-1, true) + 1e-6);
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

/// A call of random sizes.
struct LinearCall {
  Tensors tensors;
  AttentionContext context;
  bool causal = false;
};

LinearCall random_linear_call(std::mt19937_64& generator, at::ScalarType type) {
  const auto pick = [&](std::initializer_list<std::int64_t> choices) {
    return *(choices.begin() + static_cast<std::ptrdiff_t>(generator() % choices.size()));
  };
  LinearCall call;
  call.causal = pick({0, 1}) == 1;
  const std::int64_t batch = pick({1, 2, 3});
  const std::int64_t key_heads = pick({1, 2, 3});
  const std::int64_t queries = pick({1, 2, 63, 64, 65, 129, 200, 1023, 1100});
  const std::int64_t keys = pick({0, 1}) == 1 ? queries : pick({1, 5, 64, 90, 150});
  const std::int64_t width = pick({1, 3, 8, 16});
  call.tensors = {at::randn({batch, key_heads * pick({1, 2, 4}), queries, width}, type),
                  at::randn({batch, key_heads, keys, width}, type),
                  at::randn({batch, key_heads, keys, pick({1, 4, 16})}, type)};
  call.context.query_offset = call.causal ? pick({0, 0, 1, 40, 100}) : 0;
  if (pick({0, 1}) == 1) {
    call.context.key_keep = at::rand({batch, keys}) < 0.7;
  }
  return call;
}

double largest_error(at::ScalarType type, int calls, const std::string& map = "elu") {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(concat(map, ", seed ", seed));
  std::mt19937_64 generator(seed);
  at::manual_seed(seed);
  double largest = 0;
  for (int i = 0; i < calls; ++i) {
    const LinearCall call = random_linear_call(generator, type);
    const Tensors& tensors = call.tensors;
    const at::Tensor expected = equations(tensors, call.causal, call.context, map);
    const auto module = linear(tensors.query.size(1), call.causal, map);
    const at::Tensor output = module->forward(tensors.query, tensors.key, tensors.value, call.context);
    EXPECT_EQ(output.scalar_type(), type);
    EXPECT_EQ(output.sizes(), expected.sizes());
    largest = std::max(largest, difference(output, expected));
  }
  EXPECT_GT(largest, 0) << "seed " << seed;
  return largest;
}

class LinearMaps : public ::testing::TestWithParam<const char*> {};

TEST_P(LinearMaps, EqualTheEquations) {
  EXPECT_LT(largest_error(at::kDouble, 50, GetParam()), 1e-11);
  EXPECT_LT(largest_error(at::kFloat, 25, GetParam()), 2e-5);
}

// The inputs are bfloat16 for both: what is left is one rounding of outputs below 4, half of 2^-7 * 4.
TEST_P(LinearMaps, SumsOfBfloat16AreFloat32) { EXPECT_LT(largest_error(at::kBFloat16, 25, GetParam()), 0.0157); }

INSTANTIATE_TEST_SUITE_P(Linear, LinearMaps, ::testing::Values("elu", "relu", "square", "dpfp"),
                         [](const auto& info) { return std::string(info.param); });

TEST(LinearAttention, GradientsOfCausalCalls) {
  at::manual_seed(5);
  const Tensors tensors{at::randn({1, 2, 70, 2}, at::kDouble), at::randn({1, 1, 70, 2}, at::kDouble),
                        at::randn({1, 1, 70, 2}, at::kDouble)};
  AttentionContext context;
  context.key_keep = at::rand({1, 70}) < 0.8;
  const auto module = linear(2, true);
  const auto call = [&](const std::vector<at::Tensor>& inputs) {
    return module->forward(inputs[0], inputs[1], inputs[2], context);
  };
  testing::expect_gradients(call, {tensors.query, tensors.key, tensors.value});
  context.query_offset = 40;  // behind sums of keys before it
  testing::expect_gradients(call, {tensors.query.narrow(2, 0, 30), tensors.key, tensors.value});
}

TEST(LinearAttention, GradientsOfCallsOverAllKeys) {
  at::manual_seed(6);
  const auto module = linear(4, false);
  AttentionContext context;
  context.key_keep = at::rand({2, 9}) < 0.7;
  testing::expect_gradients(
      [&](const std::vector<at::Tensor>& inputs) { return module->forward(inputs[0], inputs[1], inputs[2], context); },
      {at::randn({2, 4, 5, 3}, at::kDouble), at::randn({2, 2, 9, 3}, at::kDouble),
       at::randn({2, 2, 9, 4}, at::kDouble)});
}

TEST(LinearAttention, LaterKeysReachNoEarlierRow) {
  const Tensors tensors = random_tensors({1, 2, 150, 8});
  const auto module = linear(2, true);
  const at::Tensor before = module->forward(tensors.query, tensors.key, tensors.value, {});
  for (const double number : {5.0, kNoNumber, std::numeric_limits<double>::infinity()}) {
    Tensors changed{tensors.query, tensors.key.clone(), tensors.value.clone()};
    changed.key[0][0][100].fill_(number);
    changed.value[0][1][100][3] = number;
    const at::Tensor after = module->forward(changed.query, changed.key, changed.value, {});
    EXPECT_TRUE(at::equal(before.narrow(2, 0, 100), after.narrow(2, 0, 100))) << number;
    EXPECT_TRUE(at::equal(before.select(1, 1).narrow(2, 4, 4), after.select(1, 1).narrow(2, 4, 4))) << number;
    EXPECT_FALSE(at::equal(before[0][1][149], after[0][1][149])) << number;
    EXPECT_EQ(number == 5.0, at::isfinite(after[0][0]).all().item<bool>());
  }
}

TEST(LinearAttention, WhatPaddingHoldsReachesNothing) {
  for (const bool causal : {false, true}) {
    expect_padding_reaches_nothing(*linear(2, causal));
  }
}

TEST(LinearAttention, RowsHaveLengthsOfTheirOwn) {
  for (const bool causal : {false, true}) {
    const Tensors tensors = random_tensors({2, 2, 70, 8});
    AttentionContext context;
    context.rows = {{{}, {}, {}}, {{}, 40, 40}};
    const at::Tensor output = linear(2, causal)->forward(tensors.query, tensors.key, tensors.value, context);
    const Tensors alone{tensors.query.narrow(0, 1, 1).narrow(2, 0, 40), tensors.key.narrow(0, 1, 1).narrow(2, 0, 40),
                        tensors.value.narrow(0, 1, 1).narrow(2, 0, 40)};
    EXPECT_LT(difference(output[0], equations(tensors, causal)[0]), 1e-5);
    EXPECT_LT(difference(output[1].narrow(1, 0, 40), equations(alone, causal)[0]), 1e-5);
    EXPECT_TRUE((output[1].narrow(1, 40, 30) == 0).all().item<bool>());
  }
}

TEST(LinearAttention, LengthsOfRowsCountTheQueriesOfAStep) {
  const Tensors tensors = random_tensors({2, 2, 9, 8});
  const auto module = linear(2, true);
  const at::Tensor whole = module->forward(tensors.query, tensors.key, tensors.value, {});
  const auto state = module->initial_state();
  const auto step = [&](std::int64_t first, std::int64_t count, const AttentionContext& context) {
    return module->step(tensors.query.narrow(2, first, count), tensors.key.narrow(2, first, count),
                        tensors.value.narrow(2, first, count), context, *state);
  };
  step(0, 5, {});
  state->advance();
  AttentionContext context;
  context.query_offset = 5;
  context.rows = {{{}, {}, {}}, {{}, 2, {}}};
  const at::Tensor output = step(5, 4, context);
  EXPECT_LT(difference(output[0], whole[0].narrow(1, 5, 4)), 1e-5);
  EXPECT_LT(difference(output[1].narrow(1, 0, 2), whole[1].narrow(1, 5, 2)), 1e-5);
  EXPECT_TRUE((output[1].narrow(1, 2, 2) == 0).all().item<bool>());
  for (const std::int64_t keys : {4, 8, 10}) {
    context.key_keep = at::ones({2, keys}, at::kBool);
    expect_error(ErrorKind::kArgument, {"key_keep", "5 tokens"}, [&] { step(5, 4, context); });
  }
  for (const char* expression : {"linear", "window(3)"}) {
    MechanismSite site;
    site.heads = 2;
    site.causal = true;
    const auto mechanism = make_attention(expression, site);
    const auto empty = mechanism->initial_state();
    context = {};
    context.query_offset = 5;
    expect_error(ErrorKind::kArgument, {"query_offset", "0", "5"},
                 [&] { mechanism->step(tensors.query, tensors.key, tensors.value, context, *empty); });
  }
}

TEST(LinearAttention, OneTokenBehindItsKeysIsThatOfTheWhole) {
  const Tensors tensors = random_tensors({2, 2, 90, 8});
  const auto module = linear(2, true);
  const at::Tensor whole = module->forward(tensors.query, tensors.key, tensors.value, {});
  for (const std::int64_t position : {0, 1, 63, 64, 89}) {
    AttentionContext context;
    context.query_offset = position;
    const at::Tensor one = module->forward(tensors.query.narrow(2, position, 1), tensors.key.narrow(2, 0, position + 1),
                                           tensors.value.narrow(2, 0, position + 1), context);
    EXPECT_LT(difference(one, whole.narrow(2, position, 1)), 1e-5) << position;
  }
}

TEST(LinearAttention, MemoryIsProportionalToTheLength) {
  const auto peak = [](std::int64_t length) {
    const Tensors tensors = random_tensors({1, 2, length, 32});
    const auto module = linear(2, true);
    const at::Tensor query = tensors.query.requires_grad_();
    const at::Tensor key = tensors.key.requires_grad_();
    return testing::peak_tensor_bytes([&] { module->forward(query, key, tensors.value, {}).sum().backward(); });
  };
  const std::int64_t shorter = peak(4096);
  const std::int64_t longer = peak(16384);
  EXPECT_LT(longer, 4 * shorter + (1 << 20));
  EXPECT_LT(longer, std::int64_t{2} * 16384 * 32 * 32 * 4 / 2) << "a tensor of length x 32 x 32 has twice as much";
}

TEST(LinearAttention, AutocastDoesNotLowerTheSums) {
  const Tensors tensors = random_tensors({1, 2, 100, 8}, at::kBFloat16);
  const auto module = linear(2, true);
  const at::Tensor expected = module->forward(tensors.query, tensors.key, tensors.value, {});
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  const at::Tensor output = module->forward(tensors.query, tensors.key, tensors.value, {});
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_TRUE(at::equal(output, expected));
}

TEST(LinearAttention, ErrorsNameBothSides) {
  MechanismSite site;
  for (const char* expression : {"linear(8)", "linear | window(4)", "linear full"}) {
    expect_error(ErrorKind::kExpression, {"linear", "not combined"}, [&] { make_attention(expression, site); });
  }
  expect_error(ErrorKind::kExpression, {"linear", "no setting 'window'", "map"},
               [&] { make_attention("linear(window=8)", site); });
  EXPECT_THROW(make_attention("linears", site), Error);
  EXPECT_EQ(make_attention(" linear() ", site)->description(), "linear");
  const Tensors tensors = random_tensors({1, 3, 10, 8});
  expect_error(ErrorKind::kArgument, {"3", "2"}, [&] {
    linear(3, false)->forward(tensors.query, tensors.key.narrow(1, 0, 2), tensors.value.narrow(1, 0, 2), {});
  });
}

std::shared_ptr<attention::AttentionImpl> rfa(const std::string& settings, bool causal,
                                              const at::TensorOptions& options = at::kDouble) {
  at::manual_seed(3);
  MechanismSite site;
  site.heads = 2;
  site.head_dim = 8;
  site.causal = causal;
  const auto module = make_attention("rfa(" + settings + ")", site, options);
  const at::NoGradGuard without_gradients;
  for (auto& parameter : module->named_parameters()) {
    if (parameter.key() != "projection") {
      parameter.value().add_(at::randn_like(parameter.value()) * 0.5);  // first values would hide mistakes
    }
  }
  return module;
}

double rfa_gap(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

/// As the released program writes it: `.1 [sin, cos]` of rows that are sigma times the random ones.
at::Tensor rfa_features(const at::Tensor& x, const attention::AttentionImpl& module) {
  const auto learned = module.named_parameters();
  const at::Tensor* sigma = learned.find("scales");
  const at::Tensor drawn = learned["projection"];
  const at::Tensor w = sigma != nullptr ? drawn * sigma->unsqueeze(1) : drawn;
  const at::Tensor angles = at::einsum("bhnd,hkd->bhnk", {x / (x.norm(2, -1, true) + 1e-3), w});
  return at::cat({angles.sin(), angles.cos()}, -1) * 0.1;
}

TEST(RfaAttention, EqualsAllPairs) {
  for (const bool causal : {false, true}) {
    for (const double least : {1.0, 1e-3}) {
      const auto module = rfa(least == 1.0 ? "features=32" : "features=32, denominator=small", causal);
      for (const std::int64_t length : {1, 5, 64, 131}) {
        const Tensors tensors = random_tensors({2, 2, length, 8}, at::kDouble);
        at::Tensor weights =
            at::matmul(rfa_features(tensors.query, *module), rfa_features(tensors.key, *module).transpose(2, 3));
        weights = causal ? weights.tril() : weights;
        const at::Tensor sums = weights.sum(-1, true);
        const at::Tensor counted = causal && least == 1.0 ? sums : sums.abs();
        const at::Tensor expected = at::matmul(weights, tensors.value) / counted.clamp_min(least);
        const at::Tensor output = module->forward(tensors.query, tensors.key, tensors.value, {});
        EXPECT_LT(((output - expected).abs() / (expected.abs() + 1)).max().item<double>(), 1e-9) << length;
      }
    }
  }
}

// Peng et al. 2021, equation 7, token by token.
TEST(RfaAttention, GatesForgetAsTheEquationsSay) {
  const auto module = rfa("features=32, gate=yes, denominator=small", true);
  const auto learned = module->named_parameters();
  const Tensors tensors = random_tensors({2, 2, 131, 8}, at::kDouble);
  const at::Tensor rows = rfa_features(tensors.query, *module);
  const at::Tensor keys = rfa_features(tensors.key, *module);
  const at::Tensor gates =
      at::sigmoid(at::einsum("bhnd,hd->bhn", {tensors.key, learned["gate"]}) + learned["gate_level"].unsqueeze(-1));
  at::Tensor s = at::zeros({2, 2, 32, 8}, at::kDouble);
  at::Tensor z = at::zeros({2, 2, 32}, at::kDouble);
  std::vector<at::Tensor> outputs;
  for (std::int64_t i = 0; i < 131; ++i) {
    const at::Tensor gate = gates.select(2, i).unsqueeze(-1);
    const at::Tensor key = keys.select(2, i);
    s = gate.unsqueeze(-1) * s + ((1 - gate) * key).unsqueeze(-1) * tensors.value.select(2, i).unsqueeze(-2);
    z = gate * z + (1 - gate) * key;
    const at::Tensor row = rows.select(2, i);
    outputs.push_back(at::matmul(row.unsqueeze(-2), s).squeeze(-2) / (row * z).sum(-1, true).abs().clamp_min(1e-3));
  }
  const at::Tensor expected = at::stack(outputs, 2);
  const at::Tensor output = module->forward(tensors.query, tensors.key, tensors.value, {});
  EXPECT_LT(((output - expected).abs() / (expected.abs() + 1)).max().item<double>(), 1e-9);
  // Queries of the last tokens alone: the sums before them have to forget too.
  attention::AttentionContext context;
  context.query_offset = 100;
  const at::Tensor last = module->forward(tensors.query.narrow(2, 100, 31), tensors.key, tensors.value, context);
  EXPECT_LT(rfa_gap(last, output.narrow(2, 100, 31)), 1e-9);
}

// Gates near 0 and near 1, with sums before the first row: products of exponents would leave the range of float32.
TEST(RfaAttention, DecayedSumsStayInRange) {
  at::manual_seed(5);
  const at::Tensor rows = at::randn({1, 150, 4});
  const at::Tensor keys = at::randn({1, 150, 4});
  const at::Tensor values = at::randn({1, 150, 3});
  const at::Tensor gates = -at::exp(at::randn({1, 150}) * 4);
  const at::Tensor sums = at::randn({1, 4, 3});
  at::Tensor s = sums.to(at::kDouble);
  const at::Tensor output = attention::decayed_product(rows, keys, values, gates, sums);
  for (std::int64_t i = 0; i < 150; ++i) {
    const auto row = [&](const at::Tensor& tensor) { return tensor.to(at::kDouble).narrow(1, i, 1); };
    s = row(gates).exp().unsqueeze(-1) * s + at::matmul(row(keys).transpose(1, 2), row(values));
    EXPECT_LT(rfa_gap(output.narrow(1, i, 1).to(at::kDouble), at::matmul(row(rows), s)), 1e-4) << i;
  }
}

TEST(RfaAttention, ScalesAndGatesAreLearnedAndRowsAreNot) {
  const auto module = rfa("features=8, gate=yes", true);
  EXPECT_EQ(module->spec().parameters, (std::vector<std::string>{"projection", "scales", "gate", "gate_level"}));
  const auto learned = module->named_parameters();
  EXPECT_FALSE(learned["projection"].requires_grad());
  const Tensors tensors = random_tensors({1, 2, 70, 8}, at::kDouble);
  module->forward(tensors.query, tensors.key, tensors.value, {}).square().sum().backward();
  for (const char* name : {"scales", "gate", "gate_level"}) {
    EXPECT_GT(learned[name].grad().abs().max().item<double>(), 0) << name;
  }
  EXPECT_EQ(rfa("features=8, scales=fixed", false)->parameters().size(), 1);
}

TEST(RfaAttention, FewerKeyHeadsAreRepeated) {
  for (const std::string settings : {"features=8", "features=8, gate=yes"}) {
    const auto module = rfa(settings, true);
    const Tensors tensors = random_tensors({1, 2, 9, 8}, at::kDouble);
    const at::Tensor key = tensors.key.narrow(1, 0, 1);
    const at::Tensor value = tensors.value.narrow(1, 0, 1);
    EXPECT_TRUE(at::equal(module->forward(tensors.query, key, value, {}),
                          module->forward(tensors.query, key.repeat({1, 2, 1, 1}), value.repeat({1, 2, 1, 1}), {})));
  }
}

TEST(RfaAttention, MemoryIsProportionalToTheLength) {
  const auto peak = [](std::int64_t length) {
    const Tensors tensors = random_tensors({1, 2, length, 8});
    const auto module = rfa("features=16, gate=yes", true, at::kFloat);
    const at::Tensor query = tensors.query.requires_grad_();
    const at::Tensor key = tensors.key.requires_grad_();
    return testing::peak_tensor_bytes([&] { module->forward(query, key, tensors.value, {}).sum().backward(); });
  };
  EXPECT_LT(peak(16384), 4 * peak(4096) + (1 << 20));
}

TEST(RfaAttention, ErrorsNameTheSetting) {
  EXPECT_EQ(rfa("", false)->description(), "rfa(features=128)");
  EXPECT_EQ(rfa("seed=2, scales=fixed, denominator=small, gate=yes, features=6", true)->description(),
            "rfa(features=6, gate=yes, denominator=small, scales=fixed, seed=2)");
  expect_error(ErrorKind::kExpression, {"even", "7"}, [] { rfa("features=7", false); });
  expect_error(ErrorKind::kExpression, {"denominator", "small", "two"}, [] { rfa("denominator=two", false); });
  expect_error(ErrorKind::kArgument, {"decoders alone"}, [] { rfa("gate=yes", false); });
  const Tensors tensors = random_tensors({1, 3, 4, 8}, at::kDouble);
  expect_error(ErrorKind::kArgument, {"2 heads"},
               [&] { rfa("", false)->forward(tensors.query, tensors.key, tensors.value, {}); });
}

}  // namespace
}  // namespace weft::test
