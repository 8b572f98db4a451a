// SPDX-License-Identifier: Apache-2.0
// A token that is decoded: the same numbers as its row of the whole call and as the oracle, a layout that its layers
// share, and no layout pushed out of the cache for it.
#include <gtest/gtest.h>

#include "attention/random_call.h"
#include "attention/small_calls.h"

namespace weft::test {
namespace {

using attention::AttentionOptions;
using attention::Path;

// The call of one query, at a random row.
RandomCall single_query(std::uint64_t seed) {
  RandomCall call(seed);
  const std::int64_t row = call.draw.between(0, call.site.query_length - 1);
  call.query = call.query.narrow(2, row, 1);
  for (at::Tensor* positions : {&call.options.positions.queries, &call.options.positions.first}) {
    *positions = positions->defined() ? positions->narrow(2, row, 1) : *positions;
  }
  call.site.query_offset += row;
  call.site.query_length = 1;
  for (pattern::RowBinding& binding : call.rows) {
    binding.query_length.reset();
  }
  call.tile = {1, call.tile.key};
  call.options.dropout = 0;
  return call;
}

TEST(Decoding, EqualsTheOracleInEveryDtype) {
  for (std::uint64_t seed = 5000; seed < 5120; ++seed) {
    RandomCall call = single_query(seed);
    SCOPED_TRACE(concat("seed ", seed, ": ", call.name()));
    for (at::Tensor* tensor : {&call.query, &call.key, &call.value}) {
      *tensor = tensor->to(at::kBFloat16).to(at::kDouble);  // the oracle sees what is stored
    }
    const at::Tensor expected = call.oracle({call.query, call.key, call.value}, call.options);
    // Log multiplicities are float32 in a layout; bfloat16 rounds the result to 8 bits.
    const std::pair<at::ScalarType, double> dtypes[] = {
        {at::kDouble, 3e-7}, {at::kFloat, 2e-5}, {at::kBFloat16, 1.0 / 256}, {at::kHalf, 1e-3}};
    for (const auto& [dtype, tolerance] : dtypes) {
      const auto found = attention::attention(call.query.to(dtype), call.key.to(dtype), call.value.to(dtype),
                                              call.layout(), call.options);
      // Positions are known to the kernel's single rows, and to the paths of whole calls.
      const bool is_decoded =
          !call.options.positions.queries.defined() || (dtype != at::kDouble && call.tile.key == 64);
      EXPECT_EQ(found.path == Path::kDecode, is_decoded);
      const double difference = (found.output.to(at::kDouble) - expected).abs().max().item<double>();
      EXPECT_LE(difference, tolerance * (1 + expected.abs().max().item<double>())) << dtype;
    }
    if (HasFailure()) {
      return;
    }
  }
}

TEST(Decoding, EqualsTheForwardPassRowByRow) {
  constexpr std::int64_t kLength = 150;
  for (const char* expression : {"causal & window(40)", "strided(16)", "fixed(16, 3)", "causal & bigbird(block=16)",
                                 "causal & random(9)", "causal & heads(2 * window(9), 2 * full)"}) {
    const Tensors tensors = random_tensors({2, 4, kLength, 24});
    const auto whole = run(tensors, layout_of(expression, kLength, 4));
    for (std::int64_t row = 0; row < kLength; row += 7) {
      pattern::Site site;
      site.query_length = 1;
      site.key_length = kLength;
      site.query_offset = row;
      site.heads = 4;
      const auto layout = attention::cached_layout(pattern::Pattern::parse(expression), site, {1, 64});
      const auto found = attention::attention(tensors.query.narrow(2, row, 1), tensors.key, tensors.value, layout);
      EXPECT_EQ(found.path, Path::kDecode);
      EXPECT_TRUE(at::allclose(found.output, whole.output.narrow(2, row, 1), 1e-5, 2e-6)) << expression << " " << row;
      EXPECT_TRUE(at::allclose(found.log_sum_exp, whole.log_sum_exp.narrow(2, row, 1), 1e-5, 2e-6));
    }
  }
}

// A padded or unseen key may hold anything; one that is seen makes its row NaN.
TEST(Decoding, ReadsNoKeyWithoutAnEdge) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const auto row = [](const Tensors& tensors, const at::Tensor& keep) {
      pattern::Site site;
      site.query_length = 1;
      site.key_length = 200;
      site.query_offset = 199;
      site.heads = 2;
      AttentionOptions options;
      options.key_keep = keep;
      const auto layout = attention::cached_layout(pattern::Pattern::parse("stride(10)"), site, {1, 64});
      return attention::attention(tensors.query, tensors.key, tensors.value, layout, options).output;
    };
    Tensors tensors = random_tensors({1, 2, 200, 16}, dtype);
    tensors.query = tensors.query.narrow(2, 0, 1);
    at::Tensor keep = at::ones({1, 200}, at::kBool);
    keep[0][29] = false;
    const at::Tensor clean = row(tensors, keep);
    for (std::int64_t key = 0; key < 200; ++key) {
      if (key % 10 != 9 || key == 29) {
        tensors.key.select(2, key).fill_(std::numeric_limits<double>::quiet_NaN());
        tensors.value.select(2, key).fill_(std::numeric_limits<double>::infinity());
      }
    }
    EXPECT_TRUE(at::equal(row(tensors, keep), clean));
    tensors.key[0][1][39][5] = std::numeric_limits<double>::quiet_NaN();
    const at::Tensor spoiled = row(tensors, keep);
    EXPECT_TRUE(spoiled.select(1, 1).isnan().all().item<bool>());
    EXPECT_TRUE(at::allclose(spoiled.select(1, 0), clean.select(1, 0), 1e-5, 1e-6));
  }
}

TEST(LayoutCache, DecodedTokensPushNothingOutAndShareTheirRow) {
  const auto layout = [](const char* expression, const pattern::Site& site) {
    // Parsed anew, as each layer of a model does.
    return attention::cached_layout(pattern::Pattern::parse(expression), site, {site.query_length == 1 ? 1 : 64, 64});
  };
  const pattern::Site prompt{.query_length = 300, .key_length = 300, .heads = 4};
  const std::vector<const char*> layers{"causal & window(9)", "strided(8)", "causal & window(9)", "strided(8)"};
  const auto window = layout(layers[0], prompt);
  const auto strided = layout(layers[1], prompt);
  for (std::int64_t token = 300; token < 800; ++token) {
    std::vector<attention::LayoutPtr> rows;
    rows.reserve(layers.size());
    for (std::int64_t layer = 0; layer < std::ssize(layers); ++layer) {
      rows.push_back(
          layout(layers[static_cast<std::size_t>(layer)],
                 {.query_length = 1, .key_length = token + 1, .query_offset = token, .heads = 4, .layer = layer}));
    }
    EXPECT_EQ(rows[0], rows[2]);
    EXPECT_EQ(rows[1], rows[3]);
    EXPECT_LE(rows[0]->blocks().bytes(), 256);
  }
  EXPECT_EQ(window, layout(layers[0], prompt));
  EXPECT_EQ(strided, layout(layers[1], prompt));
}

}  // namespace
}  // namespace weft::test
