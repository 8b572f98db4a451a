// SPDX-License-Identifier: Apache-2.0
// Answers over several windows, answers that are not there, and logits that are no numbers.
#include "weft/tasks/decode/answers.h"

#include <limits>

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace weft::tasks {
namespace {

using test::expect_error;

// [CLS] and then document tokens `first`, first + 1, ...: three characters each, "é " before the text so that bytes are
// one more than code points.
struct Window {
  text::Encoding encoding;
  std::vector<float> start;
  std::vector<float> end;

  Window(std::int64_t first, std::vector<float> its_start, std::vector<float> its_end)
      : start(std::move(its_start)), end(std::move(its_end)) {
    encoding.ids = {101};
    encoding.sequences = {-1};
    encoding.offsets = {{}};
    encoding.byte_offsets = {{}};
    for (std::size_t token = 1; token < start.size(); ++token) {
      const std::int64_t place = 3 * (first + static_cast<std::int64_t>(token) - 1);
      encoding.ids.push_back(7);
      encoding.sequences.push_back(1);
      encoding.offsets.push_back({place, place + 2});
      encoding.byte_offsets.push_back({place + 1, place + 3});
    }
  }
  AnswerWindow view() const { return {&encoding, start, end}; }
};

TEST(SelectAnswers, LogitsRankAcrossWindows) {
  // In the first window one span is nearly certain, by softmax; the second has larger logits and less certainty.
  const Window sure(0, {-9, 3, -9}, {-9, 3, -9});
  const Window large(10, {-9, 5, 4}, {-9, 5, 4});
  const AnswerWindow windows[] = {sure.view(), large.view()};
  const Answers found = select_answers(windows, {.count = 2});
  ASSERT_EQ(found.best.size(), 2U);
  EXPECT_EQ(found.best[0].window, 1);
  EXPECT_EQ(found.best[0].offsets, (text::Span{30, 32}));
  EXPECT_EQ(found.best[0].byte_offsets, (text::Span{31, 33}));
  EXPECT_DOUBLE_EQ(found.best[0].logit, 10);
  EXPECT_LT(found.best[0].score, 0.6);
  EXPECT_EQ(found.best[1].offsets, (text::Span{30, 35}));
  EXPECT_DOUBLE_EQ(found.null_logit, -18);
}

TEST(SelectAnswers, ASpanSeenTwiceCountsOnceAtItsBest) {
  const Window first(0, {0, 1, 6}, {0, 1, 6});
  const Window second(1, {0, 8, 2}, {0, 8, 2});
  const AnswerWindow windows[] = {first.view(), second.view()};
  const Answers found = select_answers(windows, {.count = 3});
  ASSERT_EQ(found.best.size(), 3U);
  EXPECT_DOUBLE_EQ(found.best[0].logit, 16);
  EXPECT_EQ(found.best[0].window, 1);
  EXPECT_FALSE(found.best[1].offsets == found.best[0].offsets);
  EXPECT_FALSE(found.best[2].offsets == found.best[0].offsets);
  EXPECT_FALSE(found.best[2].offsets == found.best[1].offsets);
}

TEST(SelectAnswers, NoAnswerWinsByMoreThanTheThreshold) {
  const Window window(0, {4, 2, 1}, {4, 2, 1});
  const AnswerWindow view = window.view();
  AnswerOptions options;
  options.may_be_unanswerable = true;
  EXPECT_TRUE(select_answers({&view, 1}, options).best.front().no_answer);
  options.null_threshold = 4;  // the difference is exactly 4
  EXPECT_FALSE(select_answers({&view, 1}, options).best.front().no_answer);
  options.count = 2;
  const Answers both = select_answers({&view, 1}, options);
  ASSERT_EQ(both.best.size(), 2U);
  EXPECT_FALSE(both.best[0].no_answer);
  EXPECT_FALSE(select_answers({&view, 1}, {.count = 9}).best.back().no_answer);
}

TEST(SelectAnswers, TheSmallestNoAnswerOfAllWindowsCounts) {
  const Window doubtful(0, {5, 1}, {5, 1});
  const Window sure(5, {-5, 3}, {-5, 3});
  const AnswerWindow windows[] = {doubtful.view(), sure.view()};
  AnswerOptions options;
  options.may_be_unanswerable = true;
  const Answers found = select_answers(windows, options);
  EXPECT_FALSE(found.best.front().no_answer);
  EXPECT_DOUBLE_EQ(found.null_logit, -10);
}

TEST(SelectAnswers, LongestAnswer) {
  const Window window(0, {0, 9, 0, 0}, {0, 0, 0, 9});
  const AnswerWindow view = window.view();
  EXPECT_EQ(select_answers({&view, 1}, {.max_answer_tokens = 3}).best.front().offsets, (text::Span{0, 8}));
  EXPECT_EQ(select_answers({&view, 1}, {.max_answer_tokens = 1}).best.front().offsets, (text::Span{0, 2}));
}

TEST(SelectAnswers, Refuses) {
  const Window empty(0, {1}, {1});
  const AnswerWindow nothing = empty.view();
  expect_error(ErrorKind::kArgument, {"no token"}, [&] { select_answers({&nothing, 1}, {}); });
  Window broken(0, {0, std::numeric_limits<float>::quiet_NaN()}, {0, 1});
  const AnswerWindow nan = broken.view();
  expect_error(ErrorKind::kNumeric, {"finite"}, [&] { select_answers({&nan, 1}, {}); });
  broken.start = {0};
  const AnswerWindow uneven = broken.view();
  expect_error(ErrorKind::kArgument, {"2 tokens", "1 and 2"}, [&] { select_answers({&uneven, 1}, {}); });
  expect_error(ErrorKind::kArgument, {"max_answer_tokens"}, [&] { select_answers({}, {.max_answer_tokens = 0}); });
}

}  // namespace
}  // namespace weft::tasks
