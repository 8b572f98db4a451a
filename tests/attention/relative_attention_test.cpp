// SPDX-License-Identifier: Apache-2.0
// Transformer-XL's attention against its equations in float64, pair by pair and without a shift; gradients, the past
// alone, padding, memory, what layers share.
#include <gtest/gtest.h>

#include <ATen/ops/cat.h>
#include <ATen/ops/einsum.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "attention/mechanism_checks.h"
#include "attention/small_calls.h"
#include "support/expect_error.h"
#include "support/torch_fixture.h"
#include "support/torch_gradcheck.h"
#include "support/torch_memory.h"
#include "weft/attention/mechanism.h"
#include "weft/attention/mechanisms/relative/relative_product.h"
#include "weft/attention/mechanisms/relative/wave_dropout.h"
#include "weft/core/random.h"

namespace weft::test {
namespace {

using attention::AttentionContext;
using attention::AttentionImpl;
using attention::make_attention;
using attention::MechanismSite;

struct Setting {
  std::string expression = "relative";
  std::int64_t left = -1;
  std::int64_t clamp = -1;
  std::int64_t reach = -1;
};

MechanismSite relative_site(std::int64_t heads, std::int64_t width, bool causal = true) {
  MechanismSite site;
  site.heads = heads;
  site.head_dim = width;
  site.causal = causal;
  return site;
}

std::shared_ptr<AttentionImpl> relative(const std::string& expression, const MechanismSite& site,
                                        at::ScalarType type = at::kDouble) {
  auto module = make_attention(expression, site, at::TensorOptions(type));
  const at::NoGradGuard without_gradients;
  for (auto& parameter : module->parameters()) {
    parameter.normal_(0.0, 0.5);  // far from zero, so that every term shows
  }
  return module;
}

// Dai et al. 2019, section 3.3: all pairs [B, H, Q, K], each with its own row W w(i - j).
// `kept` is the factor of dropout of a wave's number, of a distance and a column.
at::Tensor pairwise(AttentionImpl& module, const Tensors& tensors, const Setting& setting,
                    const AttentionContext& context = {},
                    const std::function<double(std::int64_t, std::int64_t)>& kept = {}) {
  const auto learned = module.named_parameters();
  const auto wide = [](const at::Tensor& tensor) { return tensor.to(at::kDouble); };
  const std::int64_t heads = tensors.query.size(1);
  const std::int64_t queries = tensors.query.size(2);
  const std::int64_t keys = tensors.key.size(2);
  const std::int64_t width = learned["distances"].size(0);
  at::Tensor waves = at::zeros({queries, keys, width}, at::kDouble);
  at::Tensor seen = at::ones({queries, keys}, at::kBool);
  auto wave = waves.accessor<double, 3>();
  auto sees = seen.accessor<bool, 2>();
  for (std::int64_t i = 0; i < queries; ++i) {
    for (std::int64_t j = 0; j < keys; ++j) {
      std::int64_t distance = i + context.query_offset - j;
      sees[i][j] = (!module.site().causal || distance >= 0) && (setting.left < 0 || distance <= setting.left) &&
                   (setting.reach < 0 || std::abs(distance) <= setting.reach);
      if (setting.clamp >= 0) {
        distance = std::min(std::max(distance, -setting.clamp), setting.clamp);
      }
      const std::int64_t sines = (width + 1) / 2;
      for (std::int64_t f = 0; f < width; ++f) {
        const auto exponent = static_cast<double>(2 * (f < sines ? f : f - sines)) / static_cast<double>(width);
        const double angle = static_cast<double>(distance) / std::pow(10000.0, exponent);
        wave[i][j][f] = (f < sines ? std::sin(angle) : std::cos(angle)) * (kept ? kept(distance, f) : 1.0);
      }
    }
  }
  const at::Tensor rows = at::matmul(waves, wide(learned["distances"]).t()).view({queries, keys, heads, -1});
  const auto repeated = [&](const at::Tensor& tensor) {
    return wide(tensor).repeat_interleave(heads / tensor.size(1), 1);
  };
  const at::Tensor query = wide(tensors.query);
  const at::Tensor content =
      at::einsum("bhid,bhjd->bhij", {query + wide(learned["content_bias"]).unsqueeze(1), repeated(tensors.key)});
  const at::Tensor distance =
      at::einsum("bhid,ijhd->bhij", {query + wide(learned["distance_bias"]).unsqueeze(1), rows});
  at::Tensor hidden = seen.logical_not().unsqueeze(0).unsqueeze(0);
  if (context.key_keep.defined()) {
    hidden = hidden | context.key_keep.logical_not().unsqueeze(1).unsqueeze(1);
  }
  const at::Tensor scores = ((content + distance) / std::sqrt(static_cast<double>(query.size(3))))
                                .masked_fill(hidden, -std::numeric_limits<double>::infinity());
  const at::Tensor weights = at::softmax(scores, -1).masked_fill(hidden.all(-1, true), 0.0);
  return at::matmul(weights, repeated(tensors.value));
}

double gap_between(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

const std::vector<Setting> kSettings = {{"relative"},
                                        {"relative(left=7)", 7},
                                        {"relative(left=0)", 0},
                                        {"relative(clamp=5)", -1, 5},
                                        {"relative(left=40, clamp=0)", 40, 0},
                                        {"relative(left=30, clamp=90)", 30, 90}};

TEST(RelativeAttention, EqualsTheEquations) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 generator(seed);
  at::manual_seed(seed);
  const auto pick = [&](std::initializer_list<std::int64_t> choices) {
    return *(choices.begin() + static_cast<std::ptrdiff_t>(generator() % choices.size()));
  };
  const at::NoGradGuard without_gradients;
  for (int i = 0; i < 40; ++i) {
    const Setting& setting = kSettings[generator() % kSettings.size()];
    const bool causal = pick({0, 1, 1}) == 1;
    const std::int64_t key_heads = pick({1, 3});
    const MechanismSite site = relative_site(key_heads * pick({1, 2}), pick({1, 3, 8}), causal);
    const std::int64_t batch = pick({1, 2});
    const std::int64_t queries = pick({1, 2, 33, 70, 300});
    AttentionContext context;
    context.query_offset = causal ? pick({0, 0, 1, 45}) : 0;
    const std::int64_t keys = pick({0, 1}) == 1 ? queries + context.query_offset : pick({1, 20, 70});
    const Tensors tensors{at::randn({batch, site.heads, queries, site.head_dim}, at::kDouble),
                          at::randn({batch, key_heads, keys, site.head_dim}, at::kDouble),
                          at::randn({batch, key_heads, keys, pick({1, 4})}, at::kDouble)};
    if (pick({0, 1}) == 1) {
      context.key_keep = at::rand({batch, keys}) < 0.7;
    }
    const auto module = relative(setting.expression, site);
    const at::Tensor expected = pairwise(*module, tensors, setting, context);
    const at::Tensor output = module->forward(tensors.query, tensors.key, tensors.value, context);
    ASSERT_EQ(output.sizes(), expected.sizes());
    EXPECT_LT(gap_between(output, expected), 1e-11)
        << setting.expression << " causal " << causal << " queries " << queries << " keys " << keys << " offset "
        << context.query_offset;
  }
}

// In float64 by LibTorch's products, in float32 by the kernel.
TEST(RelativeAttention, ReachIsOfBothSides) {
  at::manual_seed(4);
  for (const Setting& setting :
       {Setting{"relative(reach=9)", -1, -1, 9}, Setting{"relative(reach=70, clamp=12)", -1, 12, 70},
        Setting{"relative(reach=0)", -1, -1, 0}}) {
    SCOPED_TRACE(setting.expression);
    const auto module = relative(setting.expression, relative_site(2, 8, false));
    const auto single = relative(setting.expression, relative_site(2, 8, false), at::kFloat);
    const auto learned = module->named_parameters();
    {
      const at::NoGradGuard without_gradients;
      for (auto& parameter : single->named_parameters()) {
        parameter.value().copy_(learned[parameter.key()]);
      }
    }
    Tensors wide{at::randn({2, 2, 131, 8}, at::kDouble), at::randn({2, 1, 131, 8}, at::kDouble),
                 at::randn({2, 1, 131, 8}, at::kDouble)};
    Tensors narrow{wide.query.to(at::kFloat), wide.key.to(at::kFloat), wide.value.to(at::kFloat)};
    AttentionContext context;
    context.key_keep = at::rand({2, 131}) < 0.8;
    const auto pass = [&](AttentionImpl& of, Tensors& tensors) {
      for (at::Tensor* tensor : {&tensors.query, &tensors.key, &tensors.value}) {
        tensor->requires_grad_();
      }
      const at::Tensor output = of.forward(tensors.query, tensors.key, tensors.value, context);
      output.pow(2).sum().backward();
      return output.detach();
    };
    const at::Tensor output = pass(*module, wide);
    {
      const at::NoGradGuard without_gradients;
      EXPECT_LT(gap_between(output, pairwise(*module, wide, setting, context)), 1e-11);
    }
    EXPECT_LT(gap_between(pass(*single, narrow), output), 1e-4);
    EXPECT_LT(gap_between(narrow.query.grad(), wide.query.grad()), 1e-3);
    EXPECT_LT(gap_between(narrow.key.grad(), wide.key.grad()), 1e-3);
    EXPECT_LT(gap_between(narrow.value.grad(), wide.value.grad()), 1e-3);
    for (auto& parameter : single->named_parameters()) {
      const double size = std::max(1.0, learned[parameter.key()].grad().abs().max().item<double>());
      EXPECT_LT(gap_between(parameter.value().grad(), learned[parameter.key()].grad()), 1e-4 * size) << parameter.key();
    }
  }
  expect_error(ErrorKind::kArgument, {"relative", "left"},
               [] { make_attention("relative(reach=3)", relative_site(2, 8)); });
}

// The same inputs for both: what is left are float32 sums, and one rounding of outputs below 4 to bfloat16.
TEST(RelativeAttention, SumsAreFloat32) {
  at::manual_seed(3);
  const at::NoGradGuard without_gradients;
  const auto module = relative("relative", relative_site(2, 8), at::kFloat);
  for (const auto& [type, tolerance] : {std::pair{at::kFloat, 1e-5}, std::pair{at::kBFloat16, 0.0157}}) {
    const Tensors tensors = random_tensors({2, 2, 300, 8}, type);
    const at::Tensor output = module->forward(tensors.query, tensors.key, tensors.value, {});
    EXPECT_EQ(output.scalar_type(), type);
    EXPECT_LT(gap_between(output, pairwise(*module, tensors, {})), tolerance);
  }
}

TEST(RelativeAttention, GradientsOfEveryFactor) {
  at::manual_seed(5);
  for (const std::int64_t left : {-1, 4}) {
    for (const bool causal : {true, false}) {
      attention::RelativeCall call;
      call.left = left;
      call.causal = causal;
      call.query_offset = causal ? 5 : 0;
      call.nearest = causal ? 0 : -6;  // distances beyond the table take its first and last row
      call.keep = at::rand({2, 12}) < 0.8;
      call.dropout = left < 0 ? 0.0 : 0.2;
      const auto output = [&](const std::vector<at::Tensor>& inputs) {
        call.query = inputs[0];
        call.key = inputs[1];
        call.value = inputs[2];
        call.distances = inputs[3];
        call.content_bias = inputs[4];
        call.distance_bias = inputs[5];
        return attention::relative_attention(call);
      };
      testing::expect_gradients(output, {at::randn({2, 2, 7, 3}, at::kDouble), at::randn({2, 1, 12, 3}, at::kDouble),
                                         at::randn({2, 1, 12, 2}, at::kDouble), at::randn({2, 9, 3}, at::kDouble),
                                         at::randn({2, 3}, at::kDouble), at::randn({2, 3}, at::kDouble)});
    }
  }
}

// Output and the gradients of query, key, value, R, u and v in a dtype.
std::vector<at::Tensor> relative_results(attention::RelativeCall call, at::ScalarType type) {
  std::vector<at::Tensor> leaves;
  for (at::Tensor* tensor :
       {&call.query, &call.key, &call.value, &call.distances, &call.content_bias, &call.distance_bias}) {
    *tensor = tensor->to(type).detach().requires_grad_();
    leaves.push_back(*tensor);
  }
  const at::Tensor output = attention::relative_attention(call);
  at::manual_seed(3);
  std::vector<at::Tensor> results =
      torch::autograd::grad({output}, leaves, {at::randn(output.sizes(), at::kDouble).to(type)});
  const at::NoGradGuard without_gradients;
  results.push_back(output.detach());
  results.push_back(attention::relative_attention(call));
  return results;
}

// What the kernel computes in float32 against LibTorch's products in float64: memory, windows, short R, shared keys.
TEST(RelativeAttention, TheKernelEqualsTheProducts) {
  struct Lengths {
    std::int64_t queries, memory, left, rows, nearest;
    bool causal;
  };
  for (const Lengths& about :
       {Lengths{70, 130, -1, 300, 0, true}, Lengths{150, 0, 40, 41, 0, true}, Lengths{1, 99, -1, 20, 0, true},
        Lengths{90, 30, -1, 200, -90, false}, Lengths{65, 64, 70, 50, -20, false}}) {
    SCOPED_TRACE(about.queries);
    at::manual_seed(about.queries);
    const auto numbers = [](at::IntArrayRef sizes) {
      return at::randn(sizes, at::kDouble).to(at::kFloat).to(at::kDouble);
    };
    attention::RelativeCall call;
    call.query = numbers({2, 4, about.queries, 41});
    call.key = numbers({2, 2, about.queries + about.memory, 41});
    call.value = numbers({2, 2, about.queries + about.memory, 24});
    call.distances = numbers({4, about.rows, 41}) / 2;
    call.content_bias = numbers({4, 41}) / 2;
    call.distance_bias = numbers({4, 41}) / 2;
    call.nearest = about.nearest;
    call.query_offset = about.memory;
    call.left = about.left;
    call.causal = about.causal;
    call.dropout = about.memory == 0 ? 0.2 : 0.0;
    call.keep = at::ones({2, about.queries + about.memory}, at::kBool);
    call.keep[1].narrow(0, 0, 9).fill_(false);
    const std::vector<at::Tensor> exact = relative_results(call, at::kDouble);
    const std::vector<at::Tensor> found = relative_results(call, at::kFloat);
    for (std::size_t at = 0; at < exact.size(); ++at) {
      const double scale = 1 + exact[at].abs().max().item<double>();
      EXPECT_LT((found[at].to(at::kDouble) - exact[at]).abs().max().item<double>(), 3e-5 * scale) << at;
    }
  }
}

TEST(RelativeAttention, LaterKeysReachNoEarlierRow) {
  const at::NoGradGuard without_gradients;
  const Tensors tensors = random_tensors({1, 2, 150, 8});
  const auto module = relative("relative", relative_site(2, 8), at::kFloat);
  const at::Tensor before = module->forward(tensors.query, tensors.key, tensors.value, {});
  for (const double number : {5.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Tensors changed{tensors.query, tensors.key.clone(), tensors.value.clone()};
    changed.key[0][0][100].fill_(number);
    changed.value[0][1][100][3] = number;
    const at::Tensor after = module->forward(changed.query, changed.key, changed.value, {});
    EXPECT_LT(gap_between(before.narrow(2, 0, 100), after.narrow(2, 0, 100)), 1e-6) << number;
    EXPECT_FALSE(at::equal(before[0][1][149], after[0][1][149])) << number;
    EXPECT_EQ(number == 5.0, at::isfinite(after[0][0][120]).all().item<bool>());
  }
}

TEST(RelativeAttention, WhatPaddingHoldsReachesNothing) {
  expect_padding_reaches_nothing(*relative("relative", relative_site(2, 8), at::kFloat));
}

TEST(RelativeAttention, StepsGiveWhatTheWholeGives) {
  const at::NoGradGuard without_gradients;
  const Tensors tensors = random_tensors({2, 2, 41, 8});
  for (const Setting& setting : kSettings) {
    const auto module = relative(setting.expression, relative_site(2, 8), at::kFloat);
    const at::Tensor whole = module->forward(tensors.query, tensors.key, tensors.value, {});
    const auto state = module->initial_state();
    for (const std::int64_t count : {7, 1, 1, 13, 1, 18}) {
      AttentionContext context;
      context.query_offset = state->length();
      const std::int64_t first = state->length();
      const at::Tensor output = module->step(tensors.query.narrow(2, first, count), tensors.key.narrow(2, first, count),
                                             tensors.value.narrow(2, first, count), context, *state);
      state->advance();
      EXPECT_LT(gap_between(output, whole.narrow(2, first, count)), 1e-5) << setting.expression << " from " << first;
    }
  }
}

// A dropped probability is 0 and the others grow: the same draws forwards, backwards and in every chunk.
TEST(RelativeAttention, DropoutIsDrawnFromTheSeedAlone) {
  MechanismSite site = relative_site(2, 8);
  site.dropout = 0.3;
  const auto module = relative("relative", site, at::kFloat);
  const Tensors tensors = random_tensors({1, 2, 300, 8});
  const auto value = tensors.value.clone().requires_grad_();
  AttentionContext context;
  context.seed = 9;
  const at::Tensor output = module->forward(tensors.query, tensors.key, value, context);
  EXPECT_TRUE(at::equal(output, module->forward(tensors.query, tensors.key, value, context)));
  output.sum().backward();
  // The output is linear in the values: <gradient, value> is the sum of the output.
  EXPECT_NEAR((value.grad() * value).sum().item<double>(), output.sum().item<double>(), 2e-2);
  context.seed = 10;
  EXPECT_FALSE(at::equal(output, module->forward(tensors.query, tensors.key, value, context)));
  module->eval();
  EXPECT_LT(gap_between(module->forward(tensors.query, tensors.key, value, context), pairwise(*module, tensors, {})),
            1e-4);
}

// The number of distance d and column c is zero where word c % 4 of the draw (c / 4, d) of all layers' seed is small.
TEST(RelativeAttention, WavesAreDroppedByDistanceAndColumn) {
  constexpr double kShare = 0.4;
  for (const bool causal : {true, false}) {
    MechanismSite site = relative_site(2, 5, causal);
    site.position_dropout = kShare;
    site.layer = 3;
    const Setting setting{"relative(clamp=9)", -1, 9};
    const auto module = relative(setting.expression, site);
    const Tensors tensors = random_tensors({2, 2, 21, 5}, at::kDouble);
    AttentionContext context;
    context.seed = 77;
    const std::uint64_t seed = random_bits(context.seed.number, ~std::uint64_t{0}, 2);
    const auto kept = [&](std::int64_t distance, std::int64_t column) {
      const Philox4 draw = philox(seed, static_cast<std::uint64_t>(column / 4), static_cast<std::uint64_t>(distance));
      return random_unit(draw.value[column % 4]) < static_cast<float>(kShare) ? 0.0 : 1.0 / (1.0 - kShare);
    };
    const auto forward = [&] { return module->forward(tensors.query, tensors.key, tensors.value, context); };
    const at::Tensor output = forward();
    EXPECT_LT(gap_between(output, pairwise(*module, tensors, setting, context, kept)), 1e-11) << "causal " << causal;
    {
      const at::NoGradGuard without_gradients;  // as a layer that is computed again is first: no kept table
      EXPECT_TRUE(at::equal(output, forward()));
    }
    // A query behind a memory drops what the same distances dropped.
    AttentionContext behind = context;
    behind.query_offset = 11;
    const at::Tensor end = module->forward(tensors.query.narrow(2, 11, 10), tensors.key, tensors.value, behind);
    EXPECT_LT(gap_between(end, output.narrow(2, 11, 10)), 1e-11);
    context.seed = 78;
    EXPECT_FALSE(at::equal(output, forward()));
    context.without_dropout = true;
    EXPECT_LT(gap_between(forward(), pairwise(*module, tensors, setting)), 1e-11);
    context.without_dropout = false;
    module->eval();
    EXPECT_LT(gap_between(forward(), pairwise(*module, tensors, setting)), 1e-11);
  }
}

// The numbers that are kept grow, so that their mean stays.
TEST(RelativeAttention, DroppedWavesKeepTheirMean) {
  const at::Tensor dropped = attention::dropped_waves(at::ones({400, 50}), -100, 0.25, 5);
  // 20,000 draws: the share has a standard error of 0.003
  EXPECT_NEAR(dropped.eq(0).to(at::kDouble).mean().item<double>(), 0.25, 0.015);
  EXPECT_NEAR(dropped.mean().item<double>(), 1.0, 0.02);
  EXPECT_TRUE(at::equal(dropped.narrow(0, 7, 30), attention::dropped_waves(at::ones({30, 50}), -93, 0.25, 5)));
}

TEST(RelativeAttention, MemoryFollowsTheLength) {
  const auto module = relative("relative(left=64)", relative_site(2, 8), at::kFloat);
  const auto peak = [&](std::int64_t length) {
    Tensors tensors = random_tensors({1, 2, length, 8});
    tensors.query.requires_grad_();
    return testing::peak_tensor_bytes(
        [&] { module->forward(tensors.query, tensors.key, tensors.value, {}).sum().backward(); });
  };
  EXPECT_LT(peak(16384), std::int64_t{48} << 20) << "all scores would take 2 GB";
  const auto whole = relative("relative", relative_site(2, 8), at::kFloat);
  const Tensors tensors = random_tensors({1, 2, 8192, 8});
  const at::NoGradGuard without_gradients;
  EXPECT_LT(testing::peak_tensor_bytes([&] { whole->forward(tensors.query, tensors.key, tensors.value, {}); }),
            std::int64_t{160} << 20)
      << "all scores would take 512 MB, twice";
}

TEST(RelativeAttention, LayersShareTheBiasesOfTheFirst) {
  MechanismSite site = relative_site(2, 4);
  const auto first = make_attention("relative(biases=shared)", site);
  site.layer = 1;
  const auto second = make_attention("relative(biases=shared)", site);
  EXPECT_EQ(first->named_parameters().size(), 3U);
  EXPECT_EQ(second->named_parameters().size(), 1U);
  const Tensors tensors = random_tensors({1, 2, 5, 4});
  const auto run = [&] { return second->forward(tensors.query, tensors.key, tensors.value, {}); };
  expect_error(ErrorKind::kArgument, {"layer 1", "layer 0"}, run);
  expect_error(ErrorKind::kArgument, {"layer 1", "biases=shared", "linear"},
               [&] { second->share(*make_attention("linear", site)); });
  second->share(*first);
  run().sum().backward();
  EXPECT_TRUE(first->named_parameters()["content_bias"].grad().defined());
  EXPECT_EQ(second->shared_parameters().size(), 2U);
}

TEST(RelativeAttention, SettingsAreReadOrRefused) {
  const auto description = [](const char* expression) { return attention::parse_mechanism(expression).description; };
  EXPECT_EQ(description(" relative "), "relative");
  EXPECT_EQ(description("relative()"), "relative");
  EXPECT_EQ(description("relative( clamp = 400,left=63 )"), "relative(left=63, clamp=400)");
  EXPECT_EQ(description("relative(clamp=8, reach=64)"), "relative(reach=64, clamp=8)");
  EXPECT_EQ(description("relative(biases=layer)"), "relative");
  EXPECT_EQ(description("relative(biases=shared)"), "relative(biases=shared)");
  for (const char* expression :
       {"relative(left)", "relative(left=)", "relative(left=-2)", "relative(left=x)", "relative(far=3)", "relative(3)",
        "relative(biases=all)", "relative(left=3", "relative | window(3)", "relative(left=3, left=3)",
        "relative(left=3,)", "relative(left=3, reach=3)", "relative(reach=-1)",
        "relative(left=99999999999999999999)"}) {
    expect_error(ErrorKind::kExpression, {"relative"}, [&] { attention::parse_mechanism(expression); });
  }
  MechanismSite site = relative_site(2, 4);
  site.alibi = true;
  expect_error(ErrorKind::kArgument, {"relative", "ALiBi"}, [&] { make_attention("relative", site); });
}

}  // namespace
}  // namespace weft::test
