// SPDX-License-Identifier: Apache-2.0
// The pictures of a head against the weights that the dense float64 oracle gives: cells of every size, parts of a call,
// padding, rows without an edge, multiplicities and distance tables.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attention/small_calls.h"
#include "weft/attention/profile/head_picture.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::test {
namespace {

using attention::HeadPicture;
using attention::PictureOfHead;
using attention::PictureRequest;

struct PictureCase {
  CallCase call;
  PictureRequest request;
};

struct DenseHead {
  at::Tensor weights;  // float64 [Q, K] of the drawn rows
  at::Tensor edges;    // int64 [Q, K]
};

DenseHead dense_head(const PatternCall& made, const PictureRequest& request) {
  const attention::MassCall& call = made.call;
  const std::int64_t rows = request.query_end - request.query_begin;
  const std::int64_t first = request.query_begin - made.site.query_offset;
  DenseHead result{probabilities(made)[0][request.head].narrow(0, first, rows).clone(),
                   at::zeros({rows, made.site.key_length}, at::kLong)};
  pattern::Site site = made.site;
  site.head = request.head;
  for (std::int64_t query = first; query < first + rows; ++query) {
    if (call.query_keep.defined() && !call.query_keep[0][query].item<bool>()) {
      result.weights[query - first].zero_();
      continue;
    }
    for (std::int64_t key = 0; key < site.key_length; ++key) {
      const bool kept = !call.key_keep.defined() || call.key_keep[0][key].item<bool>();
      result.edges[query - first][key] =
          static_cast<std::int64_t>(kept && made.pattern.multiplicity(site, query, key) > 0);
    }
  }
  return result;
}

void expect_cells(const HeadPicture& picture, const DenseHead& dense, std::int64_t cell) {
  for (std::int64_t row = 0; row < picture.mean.size(0); ++row) {
    for (std::int64_t column = 0; column < picture.mean.size(1); ++column) {
      const auto part = [&](const at::Tensor& tensor) {
        const std::int64_t rows = std::min(cell, tensor.size(0) - row * cell);
        return tensor.narrow(0, row * cell, rows)
            .narrow(1, column * cell, std::min(cell, tensor.size(1) - column * cell));
      };
      const at::Tensor weights = part(dense.weights);
      const auto edges = part(dense.edges).sum().item<std::int64_t>();
      ASSERT_EQ(picture.edges[row][column].item<std::int64_t>(), edges) << row << ", " << column;
      ASSERT_NEAR(picture.largest[row][column].item<double>(), weights.max().item<double>(), 1e-6);
      ASSERT_NEAR(picture.mean[row][column].item<double>() * static_cast<double>(edges), weights.sum().item<double>(),
                  2e-6 * static_cast<double>(cell));
    }
  }
}

void expect_top(const HeadPicture& picture, const DenseHead& dense, std::int64_t top) {
  const auto [weights, keys] = dense.weights.topk(std::min(top, dense.weights.size(1)));
  const at::Tensor found = picture.top_weight.narrow(1, 0, weights.size(1));
  EXPECT_TRUE(at::allclose(found.to(at::kDouble), weights, 0.0, 1e-6));
  EXPECT_TRUE(at::equal(picture.top_key < 0, picture.top_weight == 0));
  const at::Tensor named = dense.weights.gather(1, picture.top_key.clamp_min(0)).masked_fill(picture.top_key < 0, 0.0);
  EXPECT_TRUE(at::allclose(named, picture.top_weight.to(at::kDouble), 0.0, 1e-6));
}

TEST(HeadPicture, EqualsTheDenseOracle) {
  const PictureCase cases[] = {
      {{"causal", 150, 150, 0, {64, 64}, false, false}, {.head = 1, .cell = 4, .query_end = 150, .top = 3}},
      {{"full", 70, 45, 0, {64, 64}, true, false}, {.cell = 64, .query_end = 70, .top = 2}},
      {{"heads(causal & window(9), global(1) | window(3))", 67, 67, 0, {16, 32}, true, true},
       {.head = 1, .cell = 16, .query_begin = 16, .query_end = 61, .top = 5}},
      {{"causal & stride(5)", 21, 50, 29, {1, 64}, false, true},
       {.cell = 1, .query_begin = 29, .query_end = 50, .top = 60}},
      {{"window(left=4) & !segment(1)", 33, 33, 0, {8, 32}, false, false}, {.cell = 128, .query_end = 33, .top = 1}},
      {{"block(4, global(first=1, last=1) | window(3) | random(2, plan=\"hf-eval\"))",
        64,
        64,
        0,
        {64, 64},
        false,
        false},
       {.cell = 2, .query_begin = 8, .query_end = 9, .top = 4}},
  };
  for (const PictureCase& one : cases) {
    SCOPED_TRACE(one.call.expression);
    const PatternCall made = call_of(one.call, 1);
    PictureRequest request = one.request;
    request.keys = one.call.keys;
    PictureOfHead drawn(request);
    drawn.add(scored_call(made.call));
    const HeadPicture picture = drawn.finished();
    const DenseHead dense = dense_head(made, request);
    expect_cells(picture, dense, one.request.cell);
    expect_top(picture, dense, one.request.top);
    EXPECT_TRUE(at::allclose(picture.key, dense.weights.sum(0), 0.0, 1e-5));
  }
}

TEST(HeadPicture, CellsCoverALengthWithPowersOfTwo) {
  EXPECT_EQ(attention::cell_size(1, 256), 1);
  EXPECT_EQ(attention::cell_size(256, 256), 1);
  EXPECT_EQ(attention::cell_size(257, 256), 2);
  EXPECT_EQ(attention::cell_size(16384, 256), 64);
  EXPECT_EQ(attention::cell_size(16385, 256), 128);
}

TEST(HeadPicture, RowsComputedApartTakeTheirPlace) {
  const Tensors tensors = random_tensors({1, 2, 40, 8});
  attention::MassCall local{.query = tensors.query, .key = tensors.key, .layout = layout_of("window(3)", 40, 2)};
  local.query_keep = at::ones({1, 40}, at::kBool);
  local.query_keep[0][7] = false;
  pattern::Site site;
  site.query_length = 1;
  site.key_length = 40;
  site.heads = 2;
  attention::MassCall apart{.query = tensors.value.narrow(2, 7, 1), .key = tensors.value};
  apart.layout =
      std::make_shared<const attention::Layout>(pattern::compile(pattern::Pattern::parse("full"), site, {64, 64}));
  apart.positions = {7};
  PictureOfHead drawn({.head = 1, .query_end = 40, .keys = 40, .top = 40});
  drawn.add(scored_call(local));
  drawn.add(scored_call(apart));
  const HeadPicture picture = drawn.finished();
  EXPECT_EQ(picture.edges.sum(1)[7].item<std::int64_t>(), 40);
  EXPECT_EQ(picture.edges.sum(1)[8].item<std::int64_t>(), 3);
  EXPECT_TRUE(at::allclose(picture.mean.sum(1), at::ones({40}), 0.0, 1e-5));
  const at::Tensor scores = at::matmul(tensors.value[0][1][7], tensors.value[0][1].transpose(0, 1));
  EXPECT_TRUE(at::allclose(picture.mean[7], scores.softmax(-1), 0.0, 1e-6));
}

TEST(HeadPicture, RelativeScoresEqualThoseWrittenOut) {
  const Tensors tensors = random_tensors({1, 2, 30, 8});
  const at::Tensor second = at::randn({1, 2, 30, 8});
  const at::Tensor rows = at::randn({2, 11, 8});
  attention::MassCall call{.query = tensors.query, .key = tensors.key, .layout = layout_of("causal", 30, 2)};
  call.scale = 0.3;
  call.relative = {second, rows, 2};
  PictureOfHead drawn({.head = 1, .query_end = 30, .keys = 30});
  drawn.add(scored_call(call));
  at::Tensor scores = at::matmul(tensors.query[0][1], tensors.key[0][1].transpose(0, 1));
  for (std::int64_t query = 0; query < 30; ++query) {
    for (std::int64_t key = 0; key < 30; ++key) {
      const std::int64_t row = std::clamp<std::int64_t>(query - key + 2, 0, 10);
      scores[query][key] += at::dot(second[0][1][query], rows[1][row]);
    }
  }
  const at::Tensor future = at::ones({30, 30}, at::kBool).triu(1);
  const at::Tensor expected = (scores * 0.3).masked_fill(future, -attention::kInfinity).softmax(-1);
  EXPECT_TRUE(at::allclose(drawn.finished().mean, expected, 0.0, 1e-6));
}

TEST(HeadPicture, SaysWhatDoesNotFit) {
  EXPECT_THROW(PictureOfHead({.cell = 3, .query_end = 20, .keys = 20}), Error);
  EXPECT_THROW(PictureOfHead({.cell = 4, .query_begin = 2, .query_end = 20, .keys = 20}), Error);
  EXPECT_THROW(PictureOfHead({.query_end = 0, .keys = 20}), Error);
  const Tensors tensors = random_tensors({1, 2, 20, 8});
  attention::MassCall call{.query = tensors.query, .key = tensors.key, .layout = layout_of("full", 20, 2)};
  const auto draw = [&](const PictureRequest& request) { PictureOfHead(request).add(scored_call(call)); };
  EXPECT_NO_THROW(draw({.head = 1, .query_end = 20, .keys = 20}));
  EXPECT_THROW(draw({.head = 2, .query_end = 20, .keys = 20}), Error);
  EXPECT_THROW(draw({.query_end = 20, .keys = 19}), Error);
  call.key = tensors.key.clone();
  call.key[0][1][3][0] = std::nan("");
  EXPECT_THROW(draw({.head = 1, .query_end = 20, .keys = 20}), Error);
}

}  // namespace
}  // namespace weft::test
