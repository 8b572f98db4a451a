// SPDX-License-Identifier: Apache-2.0
// One battery of checks for mechanisms; what a mechanism says about itself decides which of them apply. The queries of
// lsh are its keys, and the keys of little_bird begin with latents.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "attention/mechanism_checks.h"
#include "attention/small_calls.h"
#include "support/torch_gradcheck.h"
#include "support/torch_memory.h"
#include "weft/attention/mechanism.h"
#include "weft/pattern/compile/stride_columns.h"

namespace weft::test {
namespace {

using attention::AttentionContext;
using attention::AttentionImpl;
using attention::MechanismSite;

constexpr std::int64_t kBatteryHeads = 2;
constexpr std::int64_t kBatteryWidth = 8;

/// Mechanisms that put numbers other than the softmax in its place, each in its settings that differ in what is
/// computed.
const std::vector<std::string>& battery_expressions() {
  static const std::vector<std::string> all = {
      "linear",
      "linear(map=relu)",
      "linear(map=square)",
      "linear(map=dpfp)",
      "rfa(features=16, seed=3)",
      "rfa(features=16, denominator=small, scales=fixed, seed=3)",
      "rfa(features=16, gate=yes, seed=3)",
      "linformer(rank=6)",
      "linformer(rank=6, share=none)",
      "linformer(rank=6, share=layers, init=lucidrains)",
      "performer(features=24, seed=3)",
      "performer(features=13, orthogonal=no, seed=3)",
      "performer(features=24, map=trigonometric, seed=3)",
      "nystrom(landmarks=4, conv=3)",
      "nystrom(landmarks=16, conv=0)",
      "nystrom(landmarks=0, conv=3)",
      "lsh(buckets=8, chunk=16, seed=3)",
      "lsh(causal=rank, window=16, buckets=8, seed=3)",
      "relative",
      "relative(left=20, clamp=9)",
      "span(max=24, ramp=4, init=6)",
      "span(max=24, ramp=4, init=6, positions=shared)",
      "little_bird(block=16, latents=5)",
      "window(5)",
      "star",
      "window(left=9) | stride(64)",
  };
  return all;
}

bool has_part(const std::string& expression, const char* part) { return expression.find(part) != std::string::npos; }

/// Strides lie in columns from some length on.
constexpr std::int64_t kLongForStrides = 2304;

class EveryMechanism : public ::testing::TestWithParam<std::string> {
 protected:
  static std::shared_ptr<AttentionImpl> made(bool causal, bool incremental = false, at::ScalarType type = at::kFloat) {
    at::manual_seed(17);
    MechanismSite site;
    site.heads = kBatteryHeads;
    site.head_dim = kBatteryWidth;
    site.maximum_length = 4096;
    site.causal = causal;
    site.incremental = incremental;
    return attention::make_attention(GetParam(), site, at::TensorOptions(type));
  }

  static bool can_be_causal() { return attention::parse_mechanism(GetParam()).limits.causal.empty(); }
  static bool can_go_on() { return attention::parse_mechanism(GetParam()).limits.incremental.empty(); }
  /// Tokens in front of those that a check speaks of, so that it checks what is computed for long texts.
  static std::int64_t tokens_before() { return has_part(GetParam(), "stride(") ? kLongForStrides : 0; }
  /// What is compared that is summed in another order. Sums of weights by sines and cosines come near 0, and a division
  /// by them leaves three digits of float32.
  static at::ScalarType compared_type() { return has_part(GetParam(), "trigonometric") ? at::kDouble : at::kFloat; }
  static double tolerance() { return compared_type() == at::kDouble ? 1e-10 : 1e-4; }
  /// Without and, where it can be, with the past alone. What forgets has a past alone.
  static std::vector<bool> sites() {
    if (has_part(GetParam(), "gate=yes")) {
      return {true};
    }
    return can_be_causal() ? std::vector<bool>{false, true} : std::vector<bool>{false};
  }
};

at::Tensor output_of(AttentionImpl& module, const Tensors& tensors, const AttentionContext& context = {}) {
  return called(module, tensors, context).detach();
}

Tensors rows_between(const Tensors& tensors, std::int64_t first, std::int64_t count) {
  const auto part = [&](const at::Tensor& tensor) { return tensor.narrow(2, first, count); };
  return {part(tensors.query), part(tensors.key), part(tensors.value)};
}

Tensors in_type(const Tensors& tensors, at::ScalarType type) {
  return {tensors.query.to(type), tensors.key.to(type), tensors.value.to(type)};
}

double battery_gap(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

TEST_P(EveryMechanism, LaterKeysReachNoEarlierRow) {
  if (!can_be_causal()) {
    GTEST_SKIP() << "never causal";
  }
  const auto module = made(true);
  const std::int64_t kept = tokens_before() + 100;
  const Tensors tensors = random_tensors({1, kBatteryHeads, kept + 50, kBatteryWidth});
  const at::Tensor before = output_of(*module, tensors);
  for (const double number : {30.0, std::numeric_limits<double>::quiet_NaN()}) {
    const Tensors changed{tensors.query, tensors.key.clone(), tensors.value.clone()};
    changed.key.narrow(2, kept, 50).fill_(number);
    changed.value.narrow(2, kept, 50).fill_(number);
    const at::Tensor after = output_of(*module, changed);
    const at::Tensor was = before.narrow(2, 0, kept);
    const at::Tensor is = after.narrow(2, 0, kept);
    // Rows that are sorted by bucket move to other places of a block with every later one, and sums round otherwise.
    const bool is_sorted = module->spec().projections == attention::Projections::kSharedQueryKey;
    EXPECT_TRUE(is_sorted ? battery_gap(was, is) < 1e-6 : at::equal(was, is)) << number << ' ' << battery_gap(was, is);
    EXPECT_FALSE(at::equal(before.narrow(2, kept, 50), after.narrow(2, kept, 50))) << number;
  }
}

TEST_P(EveryMechanism, StepsEqualTheWhole) {
  if (!can_go_on() || !can_be_causal()) {
    GTEST_SKIP() << "never token by token";
  }
  const auto module = made(true, true, compared_type());
  const Tensors tensors =
      in_type(random_tensors({2, kBatteryHeads, tokens_before() + 75, kBatteryWidth}), compared_type());
  const at::Tensor whole = output_of(*module, tensors);
  const auto state = module->initial_state();
  std::int64_t first = 0;
  for (const std::int64_t count :
       {tokens_before() + 66, std::int64_t{1}, std::int64_t{1}, std::int64_t{6}, std::int64_t{1}}) {
    AttentionContext context;
    context.query_offset = first;
    const Tensors part = fitting(*module, rows_between(tensors, first, count));
    const at::Tensor output = module->step(part.query, part.key, part.value, context, *state).detach();
    EXPECT_LT(battery_gap(output, whole.narrow(2, first, count)), tolerance()) << first;
    state->advance();
    first += count;
  }
}

TEST_P(EveryMechanism, WhatPaddingHoldsReachesNothing) {
  for (const bool causal : sites()) {
    expect_padding_reaches_nothing(*made(causal));
  }
}

TEST_P(EveryMechanism, RowsOfABatchAreAloneAndPaddingChangesNothing) {
  for (const bool causal : sites()) {
    const auto module = made(causal, false, compared_type());
    const Tensors tensors = in_type(random_tensors({3, kBatteryHeads, 70, kBatteryWidth}), compared_type());
    AttentionContext context;
    context.rows = {{{}, {}, {}}, {{}, 41, 41}, {{}, 1, 1}};
    context.key_keep = at::arange(70).unsqueeze(0) < at::tensor({70, 41, 1}).unsqueeze(1);
    const at::Tensor together = output_of(*module, tensors, context);
    for (const auto& [row, length] : {std::pair{0, 70}, std::pair{1, 41}, std::pair{2, 1}}) {
      const auto one = [&](const at::Tensor& tensor) { return tensor.narrow(0, row, 1).narrow(2, 0, length); };
      const at::Tensor alone = output_of(*module, {one(tensors.query), one(tensors.key), one(tensors.value)});
      EXPECT_LT(battery_gap(one(together), alone), tolerance()) << "row " << row << ", causal " << causal;
    }
  }
}

TEST_P(EveryMechanism, LengthsOfOneAndOfNoMultiple) {
  for (const bool causal : sites()) {
    for (const std::int64_t few : {1, 2, 63, 65, 127}) {
      const std::int64_t length = tokens_before() + few;
      const at::Tensor output = output_of(*made(causal), random_tensors({1, kBatteryHeads, length, kBatteryWidth}));
      EXPECT_EQ(output.sizes(), at::IntArrayRef({1, kBatteryHeads, length, kBatteryWidth}));
      EXPECT_TRUE(at::isfinite(output).all().item<bool>()) << length;
    }
  }
}

// Values are ones, so that outputs are sums of weights over up to 4,096 keys, each far below the last bit of bfloat16.
// Of a sum in float32 one rounding is left, half of 2^-7 of the number, and as much of what is rounded before a product
// of half types.
TEST_P(EveryMechanism, SumsOfBfloat16AreFloat32) {
  for (const bool causal : sites()) {
    const auto module = made(causal);
    const Tensors drawn = random_tensors({1, kBatteryHeads, 4096, kBatteryWidth});
    const Tensors half = in_type({drawn.query, drawn.key, at::ones_like(drawn.value)}, at::kBFloat16);
    const at::Tensor output = output_of(*module, half);
    EXPECT_EQ(output.scalar_type(), at::kBFloat16);
    const at::Tensor expected = output_of(*module, in_type(half, at::kFloat));
    EXPECT_GT(expected.abs().mean().item<double>(), 0.01);
    // Values of latents are drawn: terms of about 1 and of both signs, which may leave little.
    const double terms = module->spec().latents > 0 ? 1.0 : 0.01;
    EXPECT_LT(((output.to(at::kFloat) - expected).abs() / (expected.abs() + terms)).max().item<double>(), 0.008)
        << "causal " << causal;
  }
}

TEST_P(EveryMechanism, GradientsAreThoseOfTheFunction) {
  for (const bool causal : sites()) {
    const auto module = made(causal, false, at::kDouble);
    AttentionContext context;
    context.key_keep = at::arange(7).unsqueeze(0) < at::tensor({7, 4}).unsqueeze(1);
    context.choices = std::make_shared<attention::AttentionChoices>();  // buckets stay, whatever differences do to rows
    const Tensors tensors = in_type(random_tensors({2, kBatteryHeads, 7, kBatteryWidth}), at::kDouble);
    const bool is_one = module->spec().projections == attention::Projections::kSharedQueryKey;
    const auto call = [&](const std::vector<at::Tensor>& inputs) {
      return called(*module, {inputs[is_one ? 0 : 2], inputs[0], inputs[1]}, context);
    };
    std::vector<at::Tensor> inputs = {tensors.key, tensors.value};
    if (!is_one) {
      inputs.push_back(tensors.query);
    }
    testing::expect_gradients(call, inputs, 1e-5);
  }
}

// Four times the tokens take four times the memory, and what does not depend on them.
TEST_P(EveryMechanism, MemoryOf131072TokensIsProportionalToTheLength) {
  if (has_part(GetParam(), "landmarks=0")) {
    GTEST_SKIP() << "sees all pairs, which takes minutes";
  }
  const std::string expression =
      GetParam() == "relative" ? "relative(left=64)" : GetParam();  // alone it sees all pairs
  MechanismSite site;
  site.heads = 1;
  site.head_dim = kBatteryWidth;
  site.maximum_length = 131072;
  site.causal = can_be_causal();
  const auto module = attention::make_attention(expression, site, at::TensorOptions(at::kFloat));
  const auto peak = [&](std::int64_t length) {
    const Tensors tensors = random_tensors({1, site.heads, length, kBatteryWidth});
    tensors.key.requires_grad_();
    return testing::peak_tensor_bytes([&] { called(*module, tensors).sum().backward(); });
  };
  const std::int64_t quarter = peak(32768);
  EXPECT_LT(peak(131072), 4.2 * static_cast<double>(quarter) + (1 << 20));
  EXPECT_LT(quarter, std::int64_t{1} << 29) << "bytes at 32,768 tokens";
}

// So that the checks above say something about columns.
TEST(Battery, ALongStrideLiesInColumns) {
  pattern::Site site;
  site.query_length = site.key_length = kLongForStrides + 2;
  site.heads = kBatteryHeads;
  for (const char* expression : {"window(left=9) | stride(64)", "causal & (window(left=9) | stride(64))"}) {
    EXPECT_TRUE(pattern::strides_in_columns(pattern::Pattern::parse(expression), site)) << expression;
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryMechanism, ::testing::ValuesIn(battery_expressions()), [](const auto& info) {
  std::string name;
  for (const char c : info.param) {
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return name;
});

}  // namespace
}  // namespace weft::test
