// SPDX-License-Identifier: Apache-2.0
// The pictures of a head against the weights that the dense float64 oracle gives: cells of every size, parts of a call,
// padding, rows without an edge, multiplicities and distance tables; parts against wholes.
#include <ATen/Parallel.h>
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
  auto edges = result.edges.accessor<std::int64_t, 2>();
  pattern::Site site = made.site;
  site.head = request.head;
  for (std::int64_t query = first; query < first + rows; ++query) {
    if (call.query_keep.defined() && !call.query_keep[0][query].item<bool>()) {
      result.weights[query - first].zero_();
      continue;
    }
    for (std::int64_t key = 0; key < site.key_length; ++key) {
      const bool kept = !call.key_keep.defined() || call.key_keep[0][key].item<bool>();
      edges[query - first][key] = static_cast<std::int64_t>(kept && made.pattern.multiplicity(site, query, key) > 0);
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

// The lengths of a paragraph, single tokens and cells of several: rows sum to 1.
TEST(HeadPicture, EqualsDenseAttentionAtSixHundredTokens) {
  for (const char* expression : {"full", "causal", "window(50) | global(2)"}) {
    SCOPED_TRACE(expression);
    const PatternCall made = call_of({expression, 600, 600, 0, {64, 64}, false, false}, 1);
    const PictureRequest request{.head = 1, .query_end = 600, .keys = 600, .top = 600};
    const DenseHead dense = dense_head(made, request);
    for (const bool doubled : {false, true}) {
      attention::MassCall call = made.call;
      call.query = doubled ? call.query.to(at::kDouble) : call.query;
      call.key = call.key.to(call.query.scalar_type());
      PictureOfHead drawn(request);
      drawn.add(scored_call(call));
      const HeadPicture picture = drawn.finished();
      EXPECT_TRUE(at::allclose(picture.mean.to(at::kDouble), dense.weights, 0.0, 1e-6));
      EXPECT_TRUE(at::equal(picture.edges, dense.edges));
      EXPECT_TRUE(at::allclose(picture.visible, dense.edges.sum(1).to(at::kDouble)));
      EXPECT_TRUE(at::allclose(picture.top_weight.to(at::kDouble).sum(1), at::ones({600}, at::kDouble), 0.0, 1e-6));
      expect_top(picture, dense, 600);
      EXPECT_NEAR(picture.key.sum().item<double>(), 600.0, 1e-4);
    }
    PictureRequest coarse = request;
    coarse.cell = 16;
    PictureOfHead drawn(coarse);
    drawn.add(scored_call(made.call));
    expect_cells(drawn.finished(), dense, 16);
  }
}

// A part of the keys alone, whether the rows were seen before or not.
TEST(HeadPicture, APartEqualsThatOfTheWhole) {
  for (const CallCase& one :
       {CallCase{"causal", 200, 200, 0, {64, 64}, false, true},
        CallCase{"heads(full, window(9) | global(1) | stride(7))", 150, 150, 0, {16, 32}, true, false},
        CallCase{"causal & !segment(1)", 130, 170, 40, {64, 64}, false, false}}) {
    SCOPED_TRACE(one.expression);
    const PatternCall made = call_of(one, 1);
    const attention::ScoredCall call = scored_call(made.call);
    const std::int64_t end = one.offset + one.queries;
    PictureOfHead whole({.head = 1, .cell = 2, .query_end = end, .keys = one.keys});
    whole.add(call);
    const HeadPicture expected = whole.finished();
    for (const attention::RowScales* scales : {static_cast<const attention::RowScales*>(nullptr), &whole.scales()}) {
      PictureOfHead drawn({.head = 1,
                           .cell = 2,
                           .query_begin = 48,
                           .query_end = 120,
                           .keys = one.keys,
                           .top = 3,
                           .key_begin = 34,
                           .key_end = 131,
                           .scales = scales});
      drawn.add(call);
      const HeadPicture part = drawn.finished();
      const auto cut = [](const at::Tensor& cells) { return cells.narrow(0, 24, 36).narrow(1, 17, 49); };
      // The last cell has one of its two keys.
      const auto inner = [](const at::Tensor& cells) { return cells.narrow(1, 0, 48); };
      EXPECT_TRUE(at::allclose(inner(part.mean), inner(cut(expected.mean)), 1e-5, 1e-7));
      EXPECT_TRUE(at::allclose(inner(part.largest), inner(cut(expected.largest)), 1e-5, 1e-7));
      EXPECT_TRUE(at::equal(inner(part.edges), inner(cut(expected.edges))));
      EXPECT_TRUE(at::equal(part.visible, expected.visible.narrow(0, 24, 36)));
      EXPECT_EQ(part.key.size(0), 97);
      EXPECT_TRUE((((part.top_key >= 34) & (part.top_key < 131)) | (part.top_key == -1)).all().item<bool>());
    }
  }
}

TEST(HeadPicture, DoesNotDependOnThreads) {
  const PatternCall made = call_of({"causal | global(3)", 300, 300, 0, {64, 64}, false, false}, 1);
  const attention::ScoredCall call = scored_call(made.call);
  const int before = at::get_num_threads();
  for (const std::int64_t cell : {1, 16, 64, 256}) {
    const PictureRequest request{.cell = cell, .query_end = 300, .keys = 300, .top = 4};
    std::vector<HeadPicture> pictures;
    for (const int threads : {1, 3}) {
      at::set_num_threads(threads);
      PictureOfHead drawn(request);
      drawn.add(call);
      pictures.push_back(drawn.finished());
    }
    EXPECT_TRUE(at::equal(pictures[0].mean, pictures[1].mean)) << cell;
    EXPECT_TRUE(at::equal(pictures[0].largest, pictures[1].largest)) << cell;
    EXPECT_TRUE(at::equal(pictures[0].key, pictures[1].key)) << cell;
    EXPECT_TRUE(at::equal(pictures[0].top_key, pictures[1].top_key)) << cell;
  }
  at::set_num_threads(before);
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
  PictureOfHead again({.head = 1, .query_end = 40, .keys = 40, .scales = &drawn.scales()});
  again.add(scored_call(local));
  again.add(scored_call(apart));
  EXPECT_TRUE(at::allclose(again.finished().mean, picture.mean, 0.0, 1e-6));
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
  EXPECT_THROW(PictureOfHead({.cell = 4, .query_end = 20, .keys = 20, .key_begin = 2}), Error);
  EXPECT_THROW(PictureOfHead({.query_end = 20, .keys = 20, .key_end = 21}), Error);
  const attention::RowScales none;
  EXPECT_THROW(PictureOfHead({.query_end = 20, .keys = 20, .scales = &none}), Error);
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
