// SPDX-License-Identifier: Apache-2.0
// A layer of `transient_global` against its equations, pair by pair in float64; equality with transformers is in
// tests/checkpoint/encoder_decoder_exactness_test.cpp.
#include "weft/layers/blocks/summed_block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>

#include "support/expect_error.h"
#include "weft/attention/mechanism.h"
#include "weft/attention/mechanisms/distance_biases.h"

namespace weft::layers {
namespace {

constexpr std::int64_t kSummedHeads = 2;
constexpr std::int64_t kSummedWidth = 8;

BlockConfig summed_config(std::int64_t radius, std::int64_t block) {
  BlockConfig config;
  config.hidden_size = kSummedWidth;
  config.heads = config.key_value_heads = kSummedHeads;
  config.intermediate_size = 12;
  config.attention = concat("transient_global(radius=", radius, ", block=", block, ")");
  config.distance_buckets = attention::DistanceBuckets{.count = 8, .farthest = 20};
  return config;
}

/// Every parameter random, the scores of distances too.
std::shared_ptr<SummedBlockImpl> random_summed_block(const BlockConfig& config, at::ScalarType type) {
  const at::NoGradGuard without_gradients;
  at::manual_seed(41);
  const Block block = make_block(config, at::TensorOptions(type));
  for (at::Tensor& parameter : block->parameters()) {
    parameter.normal_(0.0, 0.5);
  }
  block->eval();
  return std::dynamic_pointer_cast<SummedBlockImpl>(block);
}

/// What attention adds to a text [N, hidden] without padding, as the paper says it.
at::Tensor summed_by_hand(SummedBlockImpl& block, const at::Tensor& text, std::int64_t radius, std::int64_t size) {
  const at::Tensor seen = block.attention_norm(text);
  const std::int64_t length = text.size(0);
  const std::int64_t count = length / size;
  const auto block_of = [&](std::int64_t token) { return std::min(token / size, count - 1); };
  at::Tensor rows = seen;
  if (count > 0) {
    at::Tensor sums = at::zeros({count, kSummedWidth}, seen.options());
    for (std::int64_t token = 0; token < length; ++token) {
      sums[block_of(token)] += seen[token];
    }
    rows = at::cat({block.side_norm(sums), seen}, 0);
  }
  const auto heads_of = [&](const at::Tensor& given) {
    return given.view({given.size(0), 3, kSummedHeads, -1}).permute({1, 2, 0, 3});
  };
  const at::Tensor all = heads_of(block.attention->qkv(rows));  // [3, heads, blocks + N, D]
  const at::Tensor query = all[0].narrow(1, count, length);
  at::Tensor scores = query.matmul(all[1].transpose(1, 2)) / 2.0;  // sqrt(D)
  const attention::DistanceBuckets buckets{.count = 8, .farthest = 20};
  const auto named = block.named_parameters();
  const auto learned = [&](const char* name, std::int64_t distance) {
    const at::Tensor bucket = attention::distance_buckets(at::full({1}, distance, at::kLong), buckets, false);
    return named[std::string("attention.mechanism.") + name].index_select(0, bucket)[0];  // [heads]
  };
  at::Tensor added = at::full_like(scores, -std::numeric_limits<double>::infinity());
  for (std::int64_t token = 0; token < length; ++token) {
    for (std::int64_t key = 0; key < count + length; ++key) {
      const std::int64_t distance = token - (key - count);
      if (key < count) {
        added.select(2, key).select(1, token).copy_(learned("side_biases", block_of(token) - key));
      } else if (std::abs(distance) <= radius) {
        added.select(2, key).select(1, token).copy_(learned("distance_biases", distance));
      }
    }
  }
  const at::Tensor mixed = (scores + added).softmax(-1).matmul(all[2]);
  return block.attention->output(mixed.transpose(0, 1).flatten(1));
}

TEST(SummedBlock, IsOneSoftmaxOverAWindowAndTheSumsOfBlocks) {
  const at::NoGradGuard without_gradients;
  const auto block = random_summed_block(summed_config(3, 4), at::kDouble);
  for (const std::int64_t length : {1, 3, 4, 5, 8, 23, 70}) {
    const at::Tensor text = at::randn({1, length, kSummedWidth}, at::kDouble);
    const at::Tensor expected = block->forward(Rows(text), {}).text();
    const at::Tensor hidden = text[0] + summed_by_hand(*block, text[0], 3, 4);
    const at::Tensor wanted = hidden + block->feed_forward->forward(block->feed_forward_norm(hidden), 0);
    EXPECT_LT((expected[0] - wanted).abs().max().item<double>(), 1e-10) << length;
  }
}

TEST(SummedBlock, PaddingChangesNothingWhateverItHolds) {
  const at::NoGradGuard without_gradients;
  const auto block = random_summed_block(summed_config(3, 4), at::kDouble);
  const std::int64_t lengths[] = {23, 9, 3};
  at::Tensor text = at::randn({3, 23, kSummedWidth}, at::kDouble);
  BlockContext context;
  for (std::int64_t row = 0; row < 3; ++row) {
    text[row].narrow(0, lengths[row], 23 - lengths[row]).fill_(std::numeric_limits<double>::quiet_NaN());
    context.attention.rows.push_back({{}, lengths[row], lengths[row]});
  }
  const at::Tensor together = block->forward(Rows(text), context).text();
  for (std::int64_t row = 0; row < 3; ++row) {
    const at::Tensor own = text.narrow(0, row, 1).narrow(1, 0, lengths[row]);
    const at::Tensor alone = block->forward(Rows(own), {}).text();
    EXPECT_LT((together[row].narrow(0, 0, lengths[row]) - alone[0]).abs().max().item<double>(), 1e-10) << row;
  }
}

TEST(SummedBlock, SaysWhereItCannotBe) {
  BlockConfig decoder = summed_config(3, 4);
  decoder.causal = true;
  test::expect_error(ErrorKind::kArgument, {"transient_global", "decoder", "later tokens reach earlier ones"},
                     [&] { make_block(decoder, at::TensorOptions(at::kFloat)); });
  test::expect_error(ErrorKind::kExpression, {"block"},
                     [] { attention::parse_mechanism("transient_global(block=0)"); });
  EXPECT_EQ(attention::parse_mechanism("transient_global").description, "transient_global(radius=127, block=16)");
}

}  // namespace
}  // namespace weft::layers
