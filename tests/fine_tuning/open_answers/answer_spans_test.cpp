// SPDX-License-Identifier: Apache-2.0
// Answers found in texts, the surest span, and losses beside sums by hand.
#include "weft/fine_tuning/open_answers/answer_spans.h"

#include <cmath>

#include <torch/types.h>

#include <gtest/gtest.h>

namespace weft::fine_tuning {
namespace {

// Tokens of up to three letters, the blank before a word with its first token, as byte-level vocabularies have it.
RowPart part_of(const std::string& text, std::int64_t begin) {
  text::Encoding tokens;
  std::int64_t first = 0;
  while (first < std::ssize(text)) {
    std::int64_t end = first + 1;
    while (end < std::ssize(text) && text[static_cast<std::size_t>(end)] != ' ' && end - first < 4) {
      ++end;
    }
    tokens.byte_offsets.push_back({first, end});
    first = end;
  }
  return row_part(text, tokens, begin);
}

TEST(AnswerSpans, WordsAreWhatStandsBetweenBlanks) {
  const RowPart part = part_of(" the weaver's loom", 5);
  ASSERT_EQ(part.bytes.size(), 6U);  // the, wea, ver', s, loo, m
  EXPECT_EQ(part.end(), 11);
  EXPECT_EQ(part.words[1], part.words[3]);
  EXPECT_EQ(part.words[1], part.words[0] + 1);
  EXPECT_EQ(part.words[5], part.words[0] + 2);
}

TEST(AnswerSpans, AnAnswerIsFoundWhereItStandsAlone) {
  const RowPart part = part_of(" no north, no one", 10);
  //                            no nor th, no one
  EXPECT_EQ(spelled_at(part, "no"), (std::vector<TokenSpan>{{10, 10}, {13, 13}}));
  EXPECT_EQ(spelled_at(part, "north"), (std::vector<TokenSpan>{{11, 12}}));
  EXPECT_EQ(spelled_at(part, "no one"), (std::vector<TokenSpan>{{13, 14}}));
  EXPECT_TRUE(spelled_at(part, "nor").empty());
  EXPECT_TRUE(spelled_at(part, "").empty());
  EXPECT_TRUE(spelled_at(part, "loom").empty());
}

TEST(AnswerSpans, TheSurestSpanHasTheLargestSumWithinItsWords) {
  const std::vector<RowPart> parts = {part_of(" a b c", 1), part_of(" d e", 5)};
  const std::vector<float> starts = {9, 3, 0, 0, 9, 1, 0};
  std::vector<float> ends = {9, 0, 0, 4, 9, 0, 5};
  const auto three = best_span(starts, ends, parts, 3);
  ASSERT_TRUE(three.has_value());
  EXPECT_EQ(three->part, 0U);
  EXPECT_EQ(three->bytes, (text::Span{1, 6}));  // without the blank before it
  EXPECT_EQ(three->score, 7.0);
  const auto two = best_span(starts, ends, parts, 2);
  ASSERT_TRUE(two.has_value());
  EXPECT_EQ(two->part, 1U);
  EXPECT_EQ(two->score, 6.0);
  EXPECT_EQ(best_span(starts, ends, parts, 1)->score, 5.0);
  EXPECT_FALSE(best_span(starts, ends, {}, 3).has_value());
}

TEST(AnswerSpans, TheLossIsThatOfAllPlacesTogether) {
  const at::Tensor logits =
      torch::tensor({{1.0F, 2.0F, -1.0F}, {5.0F, 5.0F, 5.0F}, {0.0F, 3.0F, 7.0F}}).requires_grad_();
  const at::Tensor keep = torch::tensor({{true, true, true}, {true, true, true}, {true, true, false}});
  const std::vector<std::vector<std::int64_t>> places = {{0, 2}, {}, {1, 1}};
  const double first =
      std::log(std::exp(1.0) + std::exp(2.0) + std::exp(-1.0)) - std::log(std::exp(1.0) + std::exp(-1.0));
  const double third = std::log(1.0 + std::exp(3.0)) - 3.0;
  const at::Tensor loss = any_place_loss(logits, keep, places);
  EXPECT_NEAR(loss.item<double>(), (first + third) / 2, 1e-6);
  loss.backward();
  EXPECT_EQ(logits.grad()[1].abs().sum().item<double>(), 0.0);
  EXPECT_EQ(logits.grad()[2][2].item<double>(), 0.0);
  EXPECT_NEAR(logits.grad().sum().item<double>(), 0.0, 1e-6);
  const std::vector<std::vector<std::int64_t>> none(3);
  EXPECT_EQ(any_place_loss(logits, {}, none).item<double>(), 0.0);
}

}  // namespace
}  // namespace weft::fine_tuning
