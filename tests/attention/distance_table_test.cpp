// SPDX-License-Identifier: Apache-2.0
// ALiBi, BiALiBi and distance tables: published slopes, the decoding of one token against the oracle, gradients, what
// is refused. Random calls with them are in agreement_test.cpp.
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <iterator>
#include <limits>

#include "attention/small_calls.h"
#include "support/expect_error.h"
#include "support/torch_gradcheck.h"

namespace weft::test {
namespace {

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

}  // namespace
}  // namespace weft::test
