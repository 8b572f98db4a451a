// SPDX-License-Identifier: Apache-2.0
// Adaptive spans against their equations in float64, pair by pair; gradients of spans, the past alone, padding, states,
// the cost.
#include <gtest/gtest.h>

#include <ATen/ops/einsum.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "attention/small_calls.h"
#include "support/expect_error.h"
#include "support/torch_gradcheck.h"
#include "weft/attention/mechanisms/span/span_attention.h"

namespace weft::test {
namespace {

using attention::AttentionContext;
using attention::make_attention;
using attention::MechanismSite;
using attention::SpanAttention;

MechanismSite span_site(std::int64_t heads, std::int64_t width, bool causal = true) {
  MechanismSite site;
  site.heads = heads;
  site.head_dim = width;
  site.causal = causal;
  site.maximum_length = 512;
  return site;
}

std::shared_ptr<SpanAttention> span(const std::string& expression, const MechanismSite& site,
                                    at::ScalarType type = at::kDouble) {
  return std::dynamic_pointer_cast<SpanAttention>(make_attention(expression, site, at::TensorOptions(type)));
}

/// Spans z / L of the heads.
void set_spans(SpanAttention& module, const std::vector<double>& shares) {
  const at::NoGradGuard without_gradients;
  module.named_parameters()["spans"].copy_(at::tensor(shares, at::kDouble));
}

// Sukhbaatar et al. 2019, equations 4 and 5: weights are m(d) exp(s) over their sum, each pair with its own m. `spans`
// z / L [H], differentiable.
at::Tensor pairwise_span(const SpanAttention& module, const at::Tensor& spans, const Tensors& tensors,
                         const AttentionContext& context = {}) {
  const std::int64_t heads = tensors.query.size(1);
  const auto wide = [&](const at::Tensor& tensor) {
    return tensor.to(at::kDouble).repeat_interleave(heads / tensor.size(1), 1);
  };
  at::Tensor distances = at::empty({tensors.query.size(2), tensors.key.size(2)}, at::kDouble);
  auto distance = distances.accessor<double, 2>();
  at::Tensor seen = at::ones(distances.sizes(), at::kBool);
  auto sees = seen.accessor<bool, 2>();
  for (std::int64_t i = 0; i < distances.size(0); ++i) {
    for (std::int64_t j = 0; j < distances.size(1); ++j) {
      const std::int64_t d = i + context.query_offset - j;
      distance[i][j] = static_cast<double>(std::abs(d));
      sees[i][j] = std::abs(d) < module.longest() && (d >= 0 || !module.site().causal);
    }
  }
  const auto ramp = static_cast<double>(module.ramp());
  const at::Tensor z = spans.to(at::kDouble).view({heads, 1, 1}) * static_cast<double>(module.longest());
  at::Tensor mask = ((z + ramp - distances) / ramp).clamp(0.0, 1.0) * seen;  // [H, Q, K]
  mask = mask.unsqueeze(0);
  if (context.key_keep.defined()) {
    mask = mask * context.key_keep.unsqueeze(1).unsqueeze(1);
  }
  at::Tensor scores = at::einsum("bhid,bhjd->bhij", {wide(tensors.query), wide(tensors.key)}) /
                      std::sqrt(static_cast<double>(tensors.query.size(3)));
  if (const at::Tensor* const positions = module.named_parameters().find("positions")) {
    const at::Tensor rows =
        positions->to(at::kDouble)
            .index_select(0, distances.to(at::kLong).clamp_max(module.longest() - 1).flatten());  // [Q K, D]
    const at::Tensor pairs = rows.view({distances.size(0), distances.size(1), -1});
    scores = scores + at::einsum("bhid,ijd->bhij", {wide(tensors.query), pairs}) /
                          std::sqrt(static_cast<double>(tensors.query.size(3)));
  }
  if (module.site().alibi) {
    scores = scores - attention::alibi_slopes(heads).to(at::kDouble).view({heads, 1, 1}) * distances;
  }
  const at::Tensor weights = mask * scores.exp();
  const at::Tensor sums = weights.sum(-1, true);
  return at::matmul(weights / at::where(sums > 0, sums, 1.0), wide(tensors.value));
}

double span_gap(const at::Tensor& a, const at::Tensor& b) {
  return a.numel() == 0 ? 0.0 : (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

TEST(SpanAttention, EqualsTheEquations) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 generator(seed);
  at::manual_seed(seed);
  const auto pick = [&](std::initializer_list<std::int64_t> choices) {
    return *(choices.begin() + static_cast<std::ptrdiff_t>(generator() % choices.size()));
  };
  for (int i = 0; i < 40; ++i) {
    const std::int64_t key_heads = pick({1, 3});
    MechanismSite site = span_site(key_heads * pick({1, 2}), pick({1, 3, 8}), pick({0, 1, 1}) == 1);
    site.alibi = pick({0, 0, 1}) == 1;
    const std::int64_t batch = pick({1, 2});
    const std::int64_t queries = pick({1, 2, 33, 70, 140});
    AttentionContext context;
    context.query_offset = site.causal ? pick({0, 0, 1, 45}) : 0;
    const std::int64_t keys = pick({0, 1}) == 1 ? queries + context.query_offset : pick({1, 20, 70});
    const Tensors tensors{at::randn({batch, site.heads, queries, site.head_dim}, at::kDouble),
                          at::randn({batch, key_heads, keys, site.head_dim}, at::kDouble),
                          at::randn({batch, key_heads, keys, pick({1, 4})}, at::kDouble)};
    if (pick({0, 1}) == 1) {
      context.key_keep = at::rand({batch, keys}) < 0.7;
    }
    const char* const positions = !site.alibi && pick({0, 1}) == 1 ? ", positions=shared)" : ")";
    const auto module = span(concat("span(max=", pick({1, 40, 100}), ", ramp=", pick({1, 7, 32}), positions), site);
    std::vector<double> shares;
    shares.reserve(static_cast<std::size_t>(site.heads));
    for (std::int64_t head = 0; head < site.heads; ++head) {
      shares.push_back(std::array{0.0, 1.0, 0.31, 0.77}[generator() % 4]);
    }
    set_spans(*module, shares);
    at::Tensor spans = module->named_parameters()["spans"];
    const at::Tensor own = spans.detach().clone().requires_grad_();
    const at::Tensor expected = pairwise_span(*module, own, tensors, context);
    const at::Tensor output = module->forward(tensors.query, tensors.key, tensors.value, context);
    ASSERT_EQ(output.sizes(), expected.sizes());
    EXPECT_LT(span_gap(output, expected), 1e-11)
        << module->description() << " causal " << site.causal << " alibi " << site.alibi << " queries " << queries
        << " keys " << keys << " offset " << context.query_offset;
    const at::NoGradGuard without_gradients;  // a kept table, of more distances
    EXPECT_LT(span_gap(module->forward(tensors.query, tensors.key, tensors.value, context), expected), 1e-11);
  }
}

// Spans that are no whole numbers, away from the ramp's ends: there the equations have derivatives.
TEST(SpanAttention, GradientsOfSpansAndOfEveryFactor) {
  at::manual_seed(5);
  for (const auto& [causal, expression] :
       {std::pair{true, "span(max=10, ramp=4)"}, std::pair{false, "span(max=10, ramp=4)"},
        std::pair{true, "span(max=10, ramp=4, positions=shared)"},
        std::pair{false, "span(max=10, ramp=4, positions=shared)"}}) {
    const auto module = span(expression, span_site(2, 3, causal));
    set_spans(*module, {0.113, 0.427});
    Tensors tensors{at::randn({2, 2, 13, 3}, at::kDouble), at::randn({2, 1, 13, 3}, at::kDouble),
                    at::randn({2, 1, 13, 2}, at::kDouble)};
    testing::expect_gradients(
        [&](const std::vector<at::Tensor>& inputs) { return module->forward(inputs[0], inputs[1], inputs[2], {}); },
        {tensors.query, tensors.key, tensors.value});
    const at::Tensor direction = at::randn({2, 2, 13, 2}, at::kDouble);
    const auto value = [&] {
      return (module->forward(tensors.query, tensors.key, tensors.value, {}) * direction).sum();
    };
    at::Tensor spans = module->named_parameters()["spans"];
    module->zero_grad();
    value().backward();
    const at::Tensor found = spans.grad().clone();
    at::Tensor* const positions = module->named_parameters().find("positions");
    const at::Tensor of_positions = positions != nullptr ? positions->grad().clone() : at::Tensor();
    module->zero_grad();
    const at::Tensor own = spans.detach().clone().requires_grad_();
    (pairwise_span(*module, own, tensors) * direction).sum().backward();
    EXPECT_LT(span_gap(found, own.grad()), 1e-11) << expression << " causal " << causal;
    if (of_positions.defined()) {
      EXPECT_LT(span_gap(of_positions, positions->grad()), 1e-11) << "causal " << causal;
    }
    for (const std::int64_t head : {0, 1}) {
      const at::NoGradGuard without_gradients;
      constexpr double kStep = 1e-6;
      spans[head] += kStep;
      const double above = value().item<double>();
      spans[head] -= 2 * kStep;
      const double below = value().item<double>();
      spans[head] += kStep;
      EXPECT_NEAR(found[head].item<double>(), (above - below) / (2 * kStep), 1e-6);
    }
  }
}

// At whole spans distances lie on both ends of the ramp, where log m would be 0 and minus infinity.
TEST(SpanAttention, GradientsAtTheEndsOfTheRampAreFinite) {
  const Tensors tensors = random_tensors({1, 3, 150, 8});
  const auto module = span("span(max=128, ramp=32)", span_site(3, 8), at::kFloat);
  set_spans(*module, {0.0, 0.25, 1.0});
  module->forward(tensors.query, tensors.key, tensors.value, {}).square().sum().backward();
  const at::Tensor gradient = module->named_parameters()["spans"].grad();
  EXPECT_TRUE(at::isfinite(gradient).all().item<bool>());
  EXPECT_NE(gradient[0].item<float>(), 0.0F);
  EXPECT_NE(gradient[1].item<float>(), 0.0F);
  EXPECT_EQ(gradient[2].item<float>(), 0.0F) << "the whole ramp lies beyond max";
  EXPECT_EQ(module->reach(), (std::vector<std::int64_t>{31, 63, 127}));
  EXPECT_EQ(module->reach(0.5), (std::vector<std::int64_t>{15, 47, 127}));
}

TEST(SpanAttention, SumsAreFloat32) {
  const at::NoGradGuard without_gradients;
  for (const char* expression : {"span(max=200)", "span(max=200, positions=shared)"}) {
    const auto module = span(expression, span_site(2, 8), at::kFloat);
    set_spans(*module, {0.3, 0.9});
    for (const auto& [type, tolerance] : {std::pair{at::kFloat, 1e-5}, std::pair{at::kBFloat16, 0.0157}}) {
      const Tensors tensors = random_tensors({2, 2, 300, 8}, type);
      const at::Tensor output = module->forward(tensors.query, tensors.key, tensors.value, {});
      EXPECT_EQ(output.scalar_type(), type);
      EXPECT_LT(span_gap(output, pairwise_span(*module, module->named_parameters()["spans"], tensors)), tolerance);
    }
  }
}

// The kernel in float32 against LibTorch's products in float64: gradients of spans, positions and every factor.
TEST(SpanAttention, PositionsLearnInFloat32) {
  const Tensors wide = random_tensors({2, 2, 150, 8}, at::kDouble);
  const at::Tensor direction = at::randn({2, 2, 150, 8}, at::kDouble);
  std::vector<std::vector<at::Tensor>> gradients;
  at::Tensor positions;
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    const auto module = span("span(max=64, ramp=8, positions=shared)", span_site(2, 8), type);
    set_spans(*module, {0.113, 0.727});
    {
      const at::NoGradGuard without_gradients;
      at::Tensor own = module->named_parameters()["positions"];
      positions = positions.defined() ? positions : own.clone();
      own.copy_(positions);
    }
    const auto leaf = [&](const at::Tensor& tensor) { return tensor.to(type).detach().requires_grad_(); };
    const Tensors tensors{leaf(wide.query), leaf(wide.key), leaf(wide.value)};
    (module->forward(tensors.query, tensors.key, tensors.value, {}) * direction.to(type)).sum().backward();
    gradients.push_back({tensors.query.grad(), tensors.key.grad(), tensors.value.grad(),
                         module->named_parameters()["spans"].grad(), module->named_parameters()["positions"].grad()});
  }
  for (std::size_t i = 0; i < gradients[0].size(); ++i) {
    EXPECT_LT(span_gap(gradients[0][i], gradients[1][i]), 1e-4 * (1 + gradients[0][i].abs().max().item<double>())) << i;
  }
}

TEST(SpanAttention, LayersShareTheirPositions) {
  const std::string expression = "span(max=40, ramp=5, positions=shared)";
  const auto first = span(expression, span_site(2, 8), at::kFloat);
  MechanismSite site = span_site(2, 8);
  site.layer = 1;
  const auto second = span(expression, site, at::kFloat);
  EXPECT_EQ(second->named_parameters().find("positions"), nullptr);
  const Tensors tensors = random_tensors({1, 2, 50, 8});
  expect_error(ErrorKind::kArgument, {"layer 1", "positions of layer 0"},
               [&] { second->forward(tensors.query, tensors.key, tensors.value, {}); });
  second->share(*first);
  EXPECT_TRUE(second->shared_parameters().front().is_same(first->named_parameters()["positions"]));
  const at::NoGradGuard without_gradients;
  EXPECT_TRUE(at::equal(first->forward(tensors.query, tensors.key, tensors.value, {}),
                        second->forward(tensors.query, tensors.key, tensors.value, {})));
  expect_error(ErrorKind::kArgument, {"layer 1", "max=40", "span(max=64, ramp=32)"},
               [&] { second->share(*span("span(max=64)", span_site(2, 8))); });
}

TEST(SpanAttention, LaterKeysReachNoEarlierRowAndFarOnesNone) {
  const at::NoGradGuard without_gradients;
  const Tensors tensors = random_tensors({1, 2, 150, 8});
  for (const char* expression : {"span(max=64, ramp=8)", "span(max=64, ramp=8, positions=shared)"}) {
    const auto module = span(expression, span_site(2, 8), at::kFloat);
    set_spans(*module, {0.25, 0.5});  // 16 + 8 and 32 + 8 keys
    const at::Tensor before = module->forward(tensors.query, tensors.key, tensors.value, {});
    Tensors changed{tensors.query, tensors.key.clone(), tensors.value.clone()};
    changed.key.select(2, 100).fill_(std::numeric_limits<double>::quiet_NaN());
    changed.value.select(2, 100).fill_(std::numeric_limits<double>::infinity());
    const at::Tensor after = module->forward(changed.query, changed.key, changed.value, {});
    EXPECT_TRUE(at::equal(before.narrow(2, 0, 100), after.narrow(2, 0, 100)));
    EXPECT_FALSE(at::isfinite(after[0][0][123]).any().item<bool>());
    EXPECT_TRUE(at::equal(before[0][0].narrow(0, 124, 26), after[0][0].narrow(0, 124, 26)));
    EXPECT_FALSE(at::isfinite(after[0][1][139]).any().item<bool>());
    EXPECT_TRUE(at::equal(before[0][1].narrow(0, 140, 10), after[0][1].narrow(0, 140, 10)));
  }
}

TEST(SpanAttention, RowsOfABatchAreWhatTheyAreAlone) {
  const at::NoGradGuard without_gradients;
  for (const auto& [causal, expression] :
       {std::pair{true, "span(max=64, ramp=8, init=20)"}, std::pair{false, "span(max=64, ramp=8, init=20)"},
        std::pair{false, "span(max=64, ramp=8, init=20, positions=shared)"}}) {
    const auto module = span(expression, span_site(2, 8, causal), at::kFloat);
    Tensors tensors = random_tensors({2, 2, 90, 8});
    tensors.key[0].narrow(1, 71, 19).fill_(std::numeric_limits<double>::quiet_NaN());
    tensors.value[0].narrow(1, 71, 19).fill_(std::numeric_limits<double>::quiet_NaN());
    AttentionContext context;
    context.rows = {{{}, 71, 71}, {}};
    const at::Tensor both = module->forward(tensors.query, tensors.key, tensors.value, context);
    const at::Tensor first =
        module->forward(tensors.query.narrow(0, 0, 1).narrow(2, 0, 71), tensors.key.narrow(0, 0, 1).narrow(2, 0, 71),
                        tensors.value.narrow(0, 0, 1).narrow(2, 0, 71), {});
    EXPECT_LT(span_gap(both.narrow(0, 0, 1).narrow(2, 0, 71), first), 1e-6);
    EXPECT_TRUE((both[0].narrow(1, 71, 19) == 0).all().item<bool>());
    const at::Tensor second =
        module->forward(tensors.query.narrow(0, 1, 1), tensors.key.narrow(0, 1, 1), tensors.value.narrow(0, 1, 1), {});
    EXPECT_LT(span_gap(both.narrow(0, 1, 1), second), 1e-6);
  }
}

TEST(SpanAttention, StepsGiveWhatTheWholeGivesAndRememberWhatSpansNeed) {
  const at::NoGradGuard without_gradients;
  const Tensors tensors = random_tensors({2, 2, 141, 8});
  for (const auto& [shares, expression] :
       {std::pair{std::vector{0.0, 0.25}, "span(max=40, ramp=5)"},
        std::pair{std::vector{0.1, 1.0}, "span(max=40, ramp=5)"},
        std::pair{std::vector{0.1, 1.0}, "span(max=40, ramp=5, positions=shared)"},
        std::pair{std::vector{0.1, 1.0}, "span(max=40, reaches=9/39, positions=shared)"}}) {
    const auto module = span(expression, span_site(2, 8), at::kFloat);
    if (module->learns_spans()) {
      set_spans(*module, shares);
    }
    const at::Tensor whole = module->forward(tensors.query, tensors.key, tensors.value, {});
    const auto state = module->initial_state();
    for (const std::int64_t count : {7, 1, 1, 13, 1, 18, 99, 1}) {
      AttentionContext context;
      context.query_offset = state->length();
      const std::int64_t first = state->length();
      context.key_keep = at::ones({2, first + count}, at::kBool);
      const at::Tensor output = module->step(tensors.query.narrow(2, first, count), tensors.key.narrow(2, first, count),
                                             tensors.value.narrow(2, first, count), context, *state);
      state->advance();
      EXPECT_LT(span_gap(output, whole.narrow(2, first, count)), 1e-5) << "from " << first;
    }
    EXPECT_EQ(state->save().front().second.size(2), shares[1] == 1.0 ? 39 : 14);
  }
}

TEST(SpanAttention, SpansOutsideCountAsTheNearestInside) {
  const at::NoGradGuard without_gradients;
  const auto module = span("span(max=40, ramp=5)", span_site(2, 8), at::kFloat);
  set_spans(*module, {-0.2, 1.3});
  EXPECT_EQ(module->reach(), (std::vector<std::int64_t>{4, 39}));
  const Tensors tensors = random_tensors({1, 2, 60, 8});
  const at::Tensor output = module->forward(tensors.query, tensors.key, tensors.value, {});
  module->constrain();
  EXPECT_TRUE(at::equal(module->named_parameters()["spans"], at::tensor({0.0F, 1.0F})));
  EXPECT_TRUE(at::equal(output, module->forward(tensors.query, tensors.key, tensors.value, {})));
  set_spans(*module, {0.1, std::numeric_limits<double>::quiet_NaN()});
  expect_error(ErrorKind::kNumeric, {"layer 0", "head 1", "nan"},
               [&] { module->forward(tensors.query, tensors.key, tensors.value, {}); });
}

TEST(SpanAttention, DropoutIsDrawnFromTheSeedAlone) {
  MechanismSite site = span_site(2, 8);
  site.dropout = 0.3;
  const auto module = span("span(max=64)", site, at::kFloat);
  const Tensors tensors = random_tensors({1, 2, 100, 8});
  AttentionContext context;
  context.seed = 9;
  const auto forward = [&] { return module->forward(tensors.query, tensors.key, tensors.value, context); };
  const at::Tensor output = forward();
  EXPECT_TRUE(at::equal(output, forward()));
  context.seed = 10;
  EXPECT_FALSE(at::equal(output, forward()));
  module->eval();
  EXPECT_LT(span_gap(forward(), pairwise_span(*module, module->named_parameters()["spans"], tensors)), 1e-5);
}

// With m = 1 as far as a head sees, and p.
TEST(SpanAttention, FixedReachesKeepTheirPositions) {
  at::manual_seed(8);
  for (const bool causal : {true, false}) {
    const MechanismSite site = span_site(2, 3, causal);
    const auto module = span("span(max=10, reaches=3/9, positions=shared)", site);
    EXPECT_FALSE(module->learns_spans());
    EXPECT_EQ(module->named_parameters().size(), 1U);
    EXPECT_EQ(module->reach(), (std::vector<std::int64_t>{3, 9}));
    const Tensors tensors{at::randn({2, 2, 23, 3}, at::kDouble), at::randn({2, 1, 23, 3}, at::kDouble),
                          at::randn({2, 1, 23, 2}, at::kDouble)};
    // z = 0 and a ramp of 1 end where a window ends; so does z = 9 at the longest distance below max
    const auto learned = span("span(max=10, ramp=1, positions=shared)", site);
    {
      const at::NoGradGuard without_gradients;
      learned->named_parameters()["positions"].copy_(module->named_parameters()["positions"]);
    }
    set_spans(*learned, {0.3, 0.9});
    const at::Tensor expected =
        pairwise_span(*learned, learned->named_parameters()["spans"].detach(), tensors).detach();
    const auto forward = [&] { return module->forward(tensors.query, tensors.key, tensors.value, {}); };
    EXPECT_LT(span_gap(forward(), expected), 1e-11) << "causal " << causal;
    const at::Tensor direction = at::randn(expected.sizes(), at::kDouble);
    (forward() * direction).sum().backward();
    (learned->forward(tensors.query, tensors.key, tensors.value, {}) * direction).sum().backward();
    EXPECT_LT(span_gap(module->named_parameters()["positions"].grad(), learned->named_parameters()["positions"].grad()),
              1e-11);
    const at::NoGradGuard without_gradients;
    EXPECT_LT(span_gap(forward(), expected), 1e-11);
  }
}

TEST(SpanAttention, WindowsAreWrittenShortly) {
  EXPECT_EQ(attention::window_of_heads({5, 5, 5}, true), "window(left=5)");
  EXPECT_EQ(attention::window_of_heads({5}, false), "window(left=5, right=5)");
  EXPECT_EQ(attention::window_of_heads({5, 5, 9, 0}, true),
            "heads(2 * window(left=5), 1 * window(left=9), 1 * window(left=0))");
}

TEST(SpanAttention, SettingsAreReadOrRefused) {
  const auto description = [](const char* expression) { return attention::parse_mechanism(expression).description; };
  EXPECT_EQ(description(" span( max = 64 )"), "span(max=64, ramp=32)");
  EXPECT_EQ(description("span(positions=shared, max=64)"), "span(max=64, ramp=32, positions=shared)");
  EXPECT_EQ(description("span(positions=no, max=64)"), "span(max=64, ramp=32)");
  EXPECT_EQ(description("span( reaches = 3/0/63, positions=shared, max=64)"),
            "span(max=64, reaches=3/0/63, positions=shared)");
  expect_error(ErrorKind::kArgument, {"reaches=3/4", "2 heads", "3"},
               [] { make_attention("span(max=8, reaches=3/4, positions=shared)", span_site(3, 4)); });
  EXPECT_EQ(description("span(ramp=1, init=64, max=64)"), "span(max=64, ramp=1, init=64)");
  for (const char* expression :
       {"span", "span()", "span(max=0)", "span(max=x)", "span(max=8, ramp=0)", "span(max=8, init=9)", "span(8)",
        "span(max=8, far=3)", "span(max=8, positions=own)", "span(max=8) | window(3)", "span(max=99999999999999999999)",
        "span(max=8, reaches=3/8, positions=shared)", "span(max=8, reaches=3)",
        "span(max=8, reaches=3/, positions=shared)", "span(max=8, reaches=3/x, positions=shared)",
        "span(reaches=3, positions=shared)", "span(max=8, reaches=3, ramp=4, positions=shared)"}) {
    expect_error(ErrorKind::kExpression, {"span"}, [&] { attention::parse_mechanism(expression); });
  }
  MechanismSite site = span_site(2, 4);
  site.cross = true;
  site.causal = false;
  expect_error(ErrorKind::kArgument, {"span", "another sequence"}, [&] { make_attention("span(max=8)", site); });
}

}  // namespace
}  // namespace weft::test
