// SPDX-License-Identifier: Apache-2.0
// ALiBi, BiALiBi and distance tables: published slopes, the decoding of one token against the oracle, gradients, what
// is refused; slopes that heads learn, of patterns and of spans. Random calls with them are in agreement_test.cpp.
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include "attention/small_calls.h"
#include "support/expect_error.h"
#include "support/torch_gradcheck.h"
#include "weft/attention/mechanism.h"
#include "weft/attention/mechanisms/distance_biases.h"

namespace weft::test {
namespace {

using attention::AttentionContext;
using attention::AttentionImpl;
using attention::make_attention;
using attention::MechanismSite;
using attention::Path;

constexpr std::int64_t kHeads = 4;

at::Tensor slopes_of(std::int64_t rows) {
  return at::arange(1, rows * kHeads + 1).to(at::kFloat).view({rows, kHeads}) / 40;
}

TEST(PositionBias, SlopesAreThePublishedOnes) {
  const at::Tensor eight = attention::alibi_slopes(8);
  for (int head = 0; head < 8; ++head) {
    EXPECT_FLOAT_EQ(eight[head].item<float>(), std::exp2(-1.0F - static_cast<float>(head)));
  }
  // 12 heads: those of 8, then the odd ones of 16.
  const at::Tensor twelve = attention::alibi_slopes(12);
  EXPECT_TRUE(at::equal(twelve.narrow(0, 0, 8), eight));
  for (int head = 0; head < 4; ++head) {
    EXPECT_FLOAT_EQ(twelve[8 + head].item<float>(), std::exp2(-0.5F - static_cast<float>(head)));
  }
  expect_error(ErrorKind::kArgument, {"heads", "0"}, [] { attention::alibi_slopes(0); });
}

// One query at the end of a cache, two query heads a key head.
TEST(PositionBias, DecodingEqualsTheOracle) {
  for (const char* expression : {"full", "window(70) | global(1)", "heads(2 * window(9), 2 * full)"}) {
    const pattern::Pattern pattern = pattern::Pattern::parse(expression);
    pattern::Site site;
    site.query_length = 1;
    site.key_length = 200;
    site.query_offset = 199;
    site.heads = kHeads;
    const auto layout = std::make_shared<const attention::Layout>(pattern::compile(pattern, site, {1, 64}), expression);
    at::manual_seed(3);
    const at::Tensor query = at::randn({2, kHeads, 1, 16});
    const at::Tensor key = at::randn({2, 2, 200, 16});
    const at::Tensor value = at::randn({2, 2, 200, 16});
    for (std::int64_t rows = 1; rows <= 3; ++rows) {
      attention::AttentionOptions options;
      options.slopes = slopes_of(rows);
      const at::NoGradGuard no_gradient;
      const auto found = attention::attention(query, key, value, layout, options);
      EXPECT_EQ(found.path, Path::kDecode);
      const at::Tensor expected = attention::dense_oracle(query.to(at::kDouble), key.to(at::kDouble),
                                                          value.to(at::kDouble), {pattern, site}, options);
      EXPECT_TRUE(at::allclose(found.output.to(at::kDouble), expected, 1e-5, 2e-6)) << expression << " " << rows;
    }
  }
}

TEST(PositionBias, OneRowOfSlopesIsTheSameOnBothSides) {
  const auto layout = layout_of("window(40)", 100, kHeads);
  const Tensors tensors = random_tensors({1, kHeads, 100, 8});
  const auto with = [&](const at::Tensor& slopes) {
    attention::AttentionOptions options;
    options.slopes = slopes;
    return attention::attention(tensors.query, tensors.key, tensors.value, layout, options).output;
  };
  const at::Tensor slopes = slopes_of(1);
  EXPECT_TRUE(at::equal(with(slopes[0]), with(slopes)));
  EXPECT_TRUE(at::equal(with(slopes[0]), with(at::cat({slopes, slopes}))));
  EXPECT_TRUE(at::equal(with(at::zeros({kHeads})), with({})));
}

TEST(PositionBias, TakesNoDensePath) {
  const Tensors floats = random_tensors({1, kHeads, 70, 8});
  attention::AttentionOptions options;
  options.slopes = attention::alibi_slopes(kHeads);
  const auto doubles = [](const at::Tensor& tensor) { return tensor.to(at::kDouble); };
  EXPECT_EQ(attention::attention(doubles(floats.query), doubles(floats.key), doubles(floats.value),
                                 layout_of("causal", 70, kHeads), options)
                .path,
            Path::kPortable);
}

TEST(PositionBias, WrongSlopesAreErrors) {
  const auto layout = layout_of("window(9)", 20, kHeads);
  const Tensors tensors = random_tensors({1, kHeads, 20, 8});
  const auto refused = [&](const at::Tensor& slopes, ErrorKind kind, std::initializer_list<std::string_view> words) {
    attention::AttentionOptions options;
    options.slopes = slopes;
    expect_error(kind, words,
                 [&] { attention::attention(tensors.query, tensors.key, tensors.value, layout, options); });
  };
  refused(at::ones({3}), ErrorKind::kArgument, {"slopes", "4 heads", "[3]"});
  refused(at::ones({4, kHeads}), ErrorKind::kArgument, {"[2, heads] or [3, heads]", "[4, 4]"});
  refused(at::ones({kHeads}, at::kLong), ErrorKind::kArgument, {"floating", "Long"});
  refused(at::full({kHeads}, std::numeric_limits<double>::infinity()), ErrorKind::kArgument, {"finite"});
}

TEST(PositionBias, WrongTablesAreErrors) {
  const auto layout = layout_of("window(9)", 20, kHeads);
  const Tensors tensors = random_tensors({1, kHeads, 20, 8});
  attention::AttentionOptions options;
  const auto refused = [&](const at::Tensor& scores, std::initializer_list<std::string_view> words) {
    options.distances.scores = scores;
    expect_error(ErrorKind::kArgument, words,
                 [&] { attention::attention(tensors.query, tensors.key, tensors.value, layout, options); });
  };
  refused(at::ones({3, 5}), {"distance table", "4 heads", "[3, 1, 5]"});
  refused(at::ones({kHeads, 3, 5}), {"[heads, 2, span]", "[4, 3, 5]"});
  refused(at::ones({kHeads, 0}), {"at least one entry"});
  refused(at::ones({kHeads, 5}, at::kLong), {"floating", "Long"});
  options.slopes = at::ones({kHeads});
  refused(at::ones({kHeads, 5}), {"not both"});
}

// Slopes and tables by central differences in float64, with keys on both sides, position 0 and distances beyond a
// table.
TEST(PositionBias, GradientsEqualCentralDifferences) {
  pattern::Site site;
  site.query_length = 9;
  site.key_length = 11;
  site.heads = 2;
  const auto layout = std::make_shared<const attention::Layout>(
      pattern::compile(pattern::Pattern::parse("window(5) | global(1)"), site, {4, 8}));
  at::manual_seed(1);
  const auto numbers = [](at::IntArrayRef sizes) { return at::randn(sizes, at::kDouble); };
  const std::vector<at::Tensor> inputs{numbers({2, 2, 9, 3}), numbers({2, 1, 11, 3}), numbers({2, 1, 11, 3})};
  const at::Tensor biases[] = {numbers({2}), numbers({3, 2}), numbers({2, 6}), numbers({2, 2, 6})};
  for (const Path path : {Path::kPortable, Path::kScalar}) {
    for (std::size_t bias = 0; bias < std::size(biases); ++bias) {
      SCOPED_TRACE(::testing::Message() << attention::to_string(path) << " " << bias);
      testing::expect_gradients(
          [&](const std::vector<at::Tensor>& tensors) {
            attention::AttentionOptions options;
            options.path = path;
            options.dropout = 0.3;
            (bias < 2 ? options.slopes : options.distances.scores) = tensors[3];
            options.distances.zero = 3;
            return attention::attention(tensors[0], tensors[1], tensors[2], layout, options).output;
          },
          {inputs[0], inputs[1], inputs[2], biases[bias]});
    }
  }
}

MechanismSite sloped_site(std::int64_t heads, std::int64_t width, bool causal, bool learned = true) {
  MechanismSite site;
  site.heads = heads;
  site.head_dim = width;
  site.causal = causal;
  site.maximum_length = 512;
  site.alibi = true;
  site.learned_slopes = learned;
  return site;
}

at::Tensor run_sloped(AttentionImpl& module, const Tensors& tensors) {
  return module.forward(tensors.query, tensors.key, tensors.value, {});
}

void set_slopes(AttentionImpl& module, const char* name, const std::vector<double>& slopes) {
  const at::NoGradGuard without_gradients;
  module.named_parameters()[name].copy_(at::tensor(slopes, at::kDouble));
}

// softmax(q k / sqrt(D) - slope |i - j|) over all pairs, or over those with j <= i: float64, differentiable.
at::Tensor pairwise_sloped(const Tensors& tensors, const at::Tensor& before, const at::Tensor& behind, bool causal) {
  const std::int64_t length = tensors.query.size(2);
  const at::Tensor place = at::arange(length, at::kDouble);
  const at::Tensor distance = place.unsqueeze(1) - place;  // [Q, K], query minus key
  const auto wide = [](const at::Tensor& slopes) { return slopes.view({-1, 1, 1}); };
  at::Tensor scores =
      at::matmul(tensors.query, tensors.key.transpose(2, 3)) / std::sqrt(static_cast<double>(tensors.query.size(3)));
  scores = scores - wide(before) * distance.clamp_min(0) + wide(behind) * distance.clamp_max(0);
  if (causal) {
    scores = scores.masked_fill(distance < 0, -std::numeric_limits<double>::infinity());
  }
  return at::matmul(scores.softmax(-1), tensors.value);
}

/// Of a random multiple of the output, against central differences for every entry of every parameter.
void expect_gradients_of_parameters(AttentionImpl& module, const Tensors& tensors) {
  const at::Tensor direction = at::randn(run_sloped(module, tensors).sizes(), at::kDouble);
  const auto value = [&] { return (run_sloped(module, tensors) * direction).sum(); };
  module.zero_grad();
  value().backward();
  for (auto& parameter : module.named_parameters()) {
    const at::Tensor found = parameter.value().grad().clone();
    const at::NoGradGuard without_gradients;
    for (std::int64_t entry = 0; entry < found.numel(); ++entry) {
      constexpr double kStep = 1e-6;
      at::Tensor moved = parameter.value()[entry];
      moved += kStep;
      const double above = value().item<double>();
      moved -= 2 * kStep;
      const double below = value().item<double>();
      moved += kStep;
      EXPECT_NEAR(found[entry].item<double>(), (above - below) / (2 * kStep), 1e-6) << parameter.key() << entry;
    }
  }
}

TEST(LearnedSlopes, BeginAsPublished) {
  const at::NoGradGuard without_gradients;
  const Tensors tensors = random_tensors({2, 3, 70, 8});
  for (const char* expression : {"full", "window(20)", "span(max=40, init=20)"}) {
    for (const bool causal : {true, false}) {
      const auto learned = make_attention(expression, sloped_site(3, 8, causal));
      const auto constant = make_attention(expression, sloped_site(3, 8, causal, false));
      EXPECT_TRUE(at::equal(run_sloped(*learned, tensors), run_sloped(*constant, tensors))) << expression;
      const auto parameters = learned->named_parameters();
      EXPECT_TRUE(at::equal(parameters["slopes"], attention::alibi_slopes(3)));
      EXPECT_EQ(parameters.find("slopes_behind") != nullptr, !causal) << "the other side of an encoder";
      EXPECT_EQ(constant->named_parameters().find("slopes"), nullptr);
    }
  }
}

TEST(LearnedSlopes, GradientsOfBothSides) {
  at::manual_seed(11);
  for (const bool causal : {true, false}) {
    const auto module = make_attention("full", sloped_site(2, 3, causal), at::TensorOptions(at::kDouble));
    set_slopes(*module, "slopes", {0.3, -0.07});
    if (!causal) {
      set_slopes(*module, "slopes_behind", {0.11, 0.6});
    }
    const Tensors tensors{at::randn({2, 2, 9, 3}, at::kDouble), at::randn({2, 2, 9, 3}, at::kDouble),
                          at::randn({2, 2, 9, 2}, at::kDouble)};
    const at::Tensor before = module->named_parameters()["slopes"];
    const at::Tensor behind = causal ? before : module->named_parameters()["slopes_behind"];
    EXPECT_LT(
        (run_sloped(*module, tensors) - pairwise_sloped(tensors, before, behind, causal)).abs().max().item<double>(),
        1e-12);
    expect_gradients_of_parameters(*module, tensors);
    const at::Tensor direction = at::randn({2, 2, 9, 2}, at::kDouble);
    module->zero_grad();
    (run_sloped(*module, tensors) * direction).sum().backward();
    const at::Tensor found = before.grad().clone();
    module->zero_grad();
    (pairwise_sloped(tensors, before, behind, causal) * direction).sum().backward();
    EXPECT_LT((found - before.grad()).abs().max().item<double>(), 1e-11) << "causal " << causal;
  }
}

TEST(LearnedSlopes, GradientsBesideASpan) {
  at::manual_seed(12);
  for (const bool causal : {true, false}) {
    const auto module =
        make_attention("span(max=8, ramp=4, init=3)", sloped_site(2, 3, causal), at::TensorOptions(at::kDouble));
    set_slopes(*module, "spans", {0.413, 0.727});  // away from the ends of the ramp, where there is no derivative
    const Tensors tensors{at::randn({1, 2, 12, 3}, at::kDouble), at::randn({1, 2, 12, 3}, at::kDouble),
                          at::randn({1, 2, 12, 2}, at::kDouble)};
    expect_gradients_of_parameters(*module, tensors);
  }
}

// Without gradients a table is kept from call to call; it must not outlive the slopes that it is of.
TEST(LearnedSlopes, AKeptTableFollowsThem) {
  const Tensors tensors = random_tensors({1, 2, 40, 8});
  for (const char* expression : {"full", "span(max=30, init=10)"}) {
    const auto module = make_attention(expression, sloped_site(2, 8, true));
    for (const auto& slopes : {std::vector{0.5, 0.25}, std::vector{0.01, 1.5}, std::vector{-0.1, 0.0}}) {
      set_slopes(*module, "slopes", slopes);
      const at::Tensor fresh = run_sloped(*module, tensors).detach();
      const at::NoGradGuard without_gradients;
      EXPECT_LT((run_sloped(*module, tensors) - fresh).abs().max().item<double>(), 1e-6) << expression;
    }
  }
}

TEST(LearnedSlopes, StepsGiveWhatTheWholeGives) {
  const at::NoGradGuard without_gradients;
  const Tensors tensors = random_tensors({2, 2, 61, 8});
  for (const char* expression : {"full", "strided(9)", "span(max=30, ramp=5, init=10)"}) {
    const auto module = make_attention(expression, sloped_site(2, 8, true));
    set_slopes(*module, "slopes", {0.03, -0.02});
    const at::Tensor whole = run_sloped(*module, tensors);
    const auto state = module->initial_state();
    std::int64_t first = 0;
    for (const std::int64_t count : {7, 1, 1, 13, 1, 37, 1}) {
      AttentionContext context;
      context.query_offset = first;
      const at::Tensor output = module->step(tensors.query.narrow(2, first, count), tensors.key.narrow(2, first, count),
                                             tensors.value.narrow(2, first, count), context, *state);
      state->advance();
      // float32 sums in another order
      EXPECT_LT((output - whole.narrow(2, first, count)).abs().max().item<double>(), 1e-5) << expression << first;
      first += count;
    }
  }
}

/// The first distance of each bucket from `first` on, on the side of keys before the query.
std::vector<std::int64_t> begins_of_buckets(bool causal, std::int64_t first) {
  const at::Tensor buckets = attention::distance_buckets(at::arange(200), {.count = 32, .farthest = 128}, causal);
  std::vector<std::int64_t> begins;
  for (std::int64_t distance = 1; distance < 200; ++distance) {
    const std::int64_t bucket = buckets[distance].item<std::int64_t>();
    if (bucket >= first && bucket != buckets[distance - 1].item<std::int64_t>()) {
      EXPECT_EQ(bucket, first + std::ssize(begins));
      begins.push_back(distance);
    }
  }
  return begins;
}

TEST(DistanceBiases, BucketsBeginAsReleasedWithT5) {
  EXPECT_EQ(begins_of_buckets(false, 8), (std::vector<std::int64_t>{8, 12, 16, 23, 32, 46, 64, 91}));
  EXPECT_EQ(begins_of_buckets(true, 16),
            (std::vector<std::int64_t>{16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113}));
  const at::Tensor behind = attention::distance_buckets(-at::arange(1, 200), {}, false);
  EXPECT_TRUE(behind.equal(attention::distance_buckets(at::arange(1, 200), {}, false) + 16));
  EXPECT_TRUE(attention::distance_buckets(-at::arange(200), {}, true).eq(0).all().item<bool>());
}

TEST(DistanceBiases, ATokenThatIsDecodedHasThoseOfTheText) {
  at::manual_seed(2);
  MechanismSite site = sloped_site(2, 4, true);
  site.alibi = site.learned_slopes = false;
  site.incremental = true;
  site.buckets = attention::DistanceBuckets{8, 16};
  const auto module = make_attention("window(left=40)", site, at::TensorOptions(at::kDouble));
  const at::NoGradGuard without_gradients;
  const Tensors text{at::randn({1, 2, 30, 4}, at::kDouble), at::randn({1, 2, 30, 4}, at::kDouble),
                     at::randn({1, 2, 30, 4}, at::kDouble)};
  at::Tensor before;
  for (const int change : {0, 1}) {
    at::Tensor biases = module->named_parameters()["distance_biases"];
    biases.copy_(at::randn(biases.sizes(), at::kDouble));
    const at::Tensor whole = run_sloped(*module, text);
    EXPECT_TRUE(change == 0 || !whole.equal(before)) << "the table of the numbers before was kept";
    before = whole;
    const auto state = module->initial_state();
    for (std::int64_t at = 0; at < 30; ++at) {
      AttentionContext context;
      context.query_offset = at;
      const auto row = [&](const at::Tensor& rows) { return rows.narrow(2, at, 1); };
      const at::Tensor token = module->step(row(text.query), row(text.key), row(text.value), context, *state);
      EXPECT_LT((token - row(whole)).abs().max().item<double>(), 1e-12) << at;
      state->advance();
    }
  }
  site.layer = 1;
  const auto second = make_attention("window(left=40)", site, at::TensorOptions(at::kDouble));
  test::expect_error(ErrorKind::kArgument, {"layer 0", "nobody has shared"}, [&] { run_sloped(*second, text); });
  second->share(*module);
  EXPECT_TRUE(second->parameters().empty());
  EXPECT_TRUE(run_sloped(*second, text).equal(before));
}

}  // namespace
}  // namespace weft::test
