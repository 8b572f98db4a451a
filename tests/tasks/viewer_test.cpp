// SPDX-License-Identifier: Apache-2.0
// What a server draws from kept queries and keys, against dense attention in float64: whole heads, parts and rows,
// before and after the rows of the head are known; and lists of rows that are too heavy for a page.
#include <ATen/ops/arange.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "attention/small_calls.h"
#include "support/expect_error.h"
#include "weft/attention/tensors.h"
#include "weft/tasks/viewer/kept_attention.h"
#include "weft/tasks/viewer/row_lists.h"

namespace weft::tasks {
namespace {

constexpr std::int64_t kLength = 600;
constexpr std::size_t kPart = 3;

struct KeptHead {
  KeptAttention kept;
  at::Tensor weights;  // float64 [kLength, kLength] of head 1
};

void keep_random_call(KeptHead& head) {
  const test::Tensors tensors = test::random_tensors({1, 2, kLength, 16});
  attention::MassCall call{
      .query = tensors.query, .key = tensors.key, .layout = test::layout_of("causal", kLength, 2), .scale = 0.25};
  head.kept.keep(kPart, "layers.3.self", call);
  const at::Tensor scores =
      at::matmul(tensors.query[0][1].to(at::kDouble), tensors.key[0][1].to(at::kDouble).t()) * 0.25;
  const at::Tensor future = at::ones({kLength, kLength}, at::kBool).triu(1);
  head.weights = scores.masked_fill(future, -attention::kInfinity).softmax(-1);
}

TEST(KeptAttention, HeadsPartsAndRowsEqualDenseAttention) {
  KeptHead head;
  keep_random_call(head);
  for (const bool known : {false, true}) {
    SCOPED_TRACE(known ? "rows are known" : "rows are seen for the first time");
    const auto part =
        head.kept.draw(kPart, {.head = 1, .query_begin = 344, .query_end = 600, .key_begin = 128, .key_end = 384});
    EXPECT_TRUE(
        at::allclose(part.mean.to(at::kDouble), head.weights.narrow(0, 344, 256).narrow(1, 128, 256), 0.0, 1e-6));
    const auto row = head.kept.draw(kPart, {.head = 1, .query_begin = 77, .query_end = 78, .top = kLength});
    EXPECT_NEAR(row.top_weight.sum().item<double>(), 1.0, 1e-6);
    EXPECT_EQ((row.top_key >= 0).sum().item<std::int64_t>(), 78);
    EXPECT_EQ(row.top_key[0][0].item<std::int64_t>(), head.weights[77].argmax().item<std::int64_t>());
    const auto whole = head.kept.draw(kPart, {.head = 1, .cell = 4, .query_end = kLength});
    const at::Tensor cells = head.weights.view({150, 4, 150, 4});
    EXPECT_TRUE(at::allclose(whole.mean.to(at::kDouble) * whole.edges, cells.sum({1, 3}), 0.0, 4e-6));
    EXPECT_TRUE(at::allclose(whole.largest.to(at::kDouble), cells.amax({1, 3}), 0.0, 1e-6));
    EXPECT_TRUE(at::allclose(whole.key, head.weights.sum(0), 0.0, 1e-5));
  }
}

TEST(KeptAttention, SaysWhatIsNotKept) {
  KeptHead head;
  keep_random_call(head);
  test::expect_error(ErrorKind::kArgument, {"part 4"}, [&] { head.kept.draw(4, {.query_end = 1}); });
}

// A part of two heads with `rows` rows of `top` keys, and rollout without lists.
AttentionView listed_view(std::int64_t rows, std::int64_t top) {
  ViewedPart part;
  for (std::int64_t head = 0; head < 2; ++head) {
    attention::HeadPicture picture;
    picture.top_key = at::arange(rows * top).view({rows, top});
    picture.top_weight = at::ones({rows, top});
    part.heads.push_back({head, picture});
  }
  ViewedPart flow;
  flow.heads.push_back({0, {}});
  flow.heads.front().picture.top_key = at::ones({rows, 0}, at::kLong);
  flow.heads.front().picture.top_weight = at::ones({rows, 0});
  return {{}, {}, {part, flow}};
}

TEST(RowLists, ListTheStrongestKeysThatFit) {
  AttentionView view = listed_view(100, 8);
  EXPECT_FALSE(shorten_lists(view, 2 * 100 * 8 * 8));
  EXPECT_EQ(view.parts[0].heads[1].picture.top_key.size(1), 8);
  const std::optional<ShorterLists> rows = shorten_lists(view, 2 * 100 * 8 * 8 - 1);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->bytes, 12800);
  EXPECT_EQ(rows->top, 7);
  for (const ViewedHead& head : view.parts[0].heads) {
    EXPECT_EQ(head.picture.top_key.size(1), 7);
    EXPECT_EQ(head.picture.top_weight.size(1), 7);
    EXPECT_EQ(head.picture.top_key[1][0].item<std::int64_t>(), 8) << "the first of a row stay";
  }
  EXPECT_EQ(view.parts[1].heads[0].picture.top_key.size(1), 0);
}

TEST(RowLists, ListNothingWhereNotOneKeyFits) {
  AttentionView view = listed_view(100, 3);
  const std::optional<ShorterLists> rows = shorten_lists(view, 1599);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->top, 0);
  EXPECT_EQ(view.parts[0].heads[0].picture.top_weight.size(1), 0);
}

}  // namespace
}  // namespace weft::tasks
