// SPDX-License-Identifier: Apache-2.0
// Beams beside what transformers has: exhaustive search, GNMT's penalty, rows that leave, stops, and what is refused.
#include <gtest/gtest.h>

#include <ATen/Parallel.h>
#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>
#include <torch/utils.h>

#include <cmath>
#include <csignal>

#include "generation/table_decoder.h"
#include "support/cleared_interrupt.h"
#include "support/expect_error.h"
#include "weft/core/interrupt.h"
#include "weft/generation/processors/words.h"
#include "weft/generation/search/search.h"

namespace weft::generation {
namespace {

constexpr std::int64_t kVocabulary = 5;

at::Tensor random_table(std::int64_t seed) {
  torch::manual_seed(seed);
  return at::randn({kVocabulary, kVocabulary, kVocabulary});
}

GenerationConfig beams(std::int64_t width, std::int64_t tokens) {
  GenerationConfig config;
  config.num_beams = width;
  config.max_new_tokens = tokens;
  config.length_penalty = 0.0;
  return config;
}

/// Sum of log probabilities of `ids` behind a single token 0.
double log_probability(const at::Tensor& table, const Ids& ids) {
  std::int64_t before = 0;
  std::int64_t last = 0;
  double sum = 0.0;
  for (const std::int64_t id : ids) {
    sum += table[before][last].log_softmax(0)[id].item<double>();
    before = last;
    last = id;
  }
  return sum;
}

TEST(Beams, AsManyAsThereAreTextsFindTheBest) {
  const at::Tensor table = random_table(5);
  test::TableDecoder decoder(table);
  const auto found = search(decoder, {.prompts = {{0}}}, beams(125, 3)).front();
  double best = -1e9;
  for (std::int64_t code = 0; code < 125; ++code) {
    best = std::max(best, log_probability(table, {code / 25, code / 5 % 5, code % 5}));
  }
  EXPECT_NEAR(found.front().score, best, 1e-5);
  EXPECT_NEAR(log_probability(table, found.front().ids), best, 1e-5);
}

TEST(Beams, PenaltiesDivideTheSum) {
  const at::Tensor table = random_table(6);
  test::TableDecoder decoder(table);
  for (const std::string form : {"power", "gnmt"}) {
    GenerationConfig config = beams(4, 6);
    config.num_return_sequences = 4;
    config.eos_token_id = {2};
    config.length_penalty = 0.6;
    config.length_penalty_form = form;
    const std::vector<Sequence> texts = search(decoder, {.prompts = {{0}}}, config).front();
    for (const Sequence& text : texts) {
      const auto length = static_cast<double>(text.ids.size());
      const double divisor = std::pow(form == "gnmt" ? (5.0 + length) / 6.0 : length, 0.6);
      EXPECT_NEAR(text.score, log_probability(table, text.ids) / divisor, 1e-5) << form;
      EXPECT_EQ(text.reason, text.ids.back() == 2 ? FinishReason::kStopToken : FinishReason::kLength);
    }
  }
}

TEST(Beams, FinishedPromptsLeaveTheBatch) {
  const auto first_ends = [](std::int64_t item, std::span<const std::int64_t>) {
    return item == 0 ? Ids{2} : Ids{0, 1, 3, 4};
  };
  for (const std::int64_t width : {1, 3}) {
    test::TableDecoder decoder(random_table(7));
    GenerationConfig config = beams(width, 4);
    config.eos_token_id = {2};
    const auto found = search(decoder, {.prompts = {{3}, {1}}, .constraint = allow_only(first_ends)}, config);
    EXPECT_EQ(found[0].front().ids, Ids{2});
    EXPECT_EQ(found[1].front().ids.size(), 4U);
    // Each prompt is read once, and then the second one goes on alone.
    EXPECT_EQ(decoder.widths, (std::vector<std::int64_t>{2, width, width, width}));
  }
}

TEST(Beams, AStopEndsATextWhereItComes) {
  test::TableDecoder decoder(random_table(8));
  const auto two_fours = [](std::span<const std::int64_t> made) {
    return made.size() > 1 && made.back() == 4 && made[made.size() - 2] == 4;
  };
  for (const std::int64_t width : {1, 3}) {
    GenerationConfig config = beams(width, 8);
    config.sequence_bias = {"4:6.5"};
    const Sequence text = search(decoder, {.prompts = {{0}}, .stops = two_fours}, config).front().front();
    EXPECT_EQ(text.reason, FinishReason::kStopString) << width;
    EXPECT_TRUE(two_fours(text.ids)) << width;
  }
}

TEST(Beams, OnlyWhatIsAllowedComes) {
  test::TableDecoder decoder(random_table(9));
  const auto odd = [](std::int64_t item, std::span<const std::int64_t>) { return item == 0 ? Ids{1, 3} : Ids{4}; };
  for (const std::int64_t width : {1, 2}) {
    const auto found = search(decoder, {.prompts = {{0}, {0}}, .constraint = allow_only(odd)}, beams(width, 4));
    for (const std::int64_t id : found[0].front().ids) {
      EXPECT_EQ(id % 2, 1);
    }
    EXPECT_EQ(found[1].front().ids, (Ids{4, 4, 4, 4}));
  }
}

TEST(Beams, ASignalEndsThemWithWhatIsThere) {
  const test::ClearedInterrupt cleared;
  const InterruptGuard guard;
  test::TableDecoder decoder(random_table(10));
  const auto raise_at_two = [](std::span<const std::int64_t> made) {
    if (made.size() == 2) {
      std::raise(SIGTERM);
    }
    return false;
  };
  const Sequence text = search(decoder, {.prompts = {{0}}, .stops = raise_at_two}, beams(2, 20)).front().front();
  EXPECT_EQ(text.reason, FinishReason::kInterrupted);
  EXPECT_EQ(text.ids.size(), 2U);
}

// One prompt, whose rows are shared out among threads, and several, of which a thread takes one whole.
TEST(Beams, LogitsThatAreNotFiniteAreErrors) {
  at::Tensor table = random_table(8);
  table.select(2, 3).fill_(std::nanf(""));
  test::TableDecoder decoder(table);
  for (const std::size_t prompts : {std::size_t{1}, std::size_t{9}}) {
    for (const std::int64_t width : {1, 3}) {
      test::expect_error(ErrorKind::kNumeric, {"token 3", "nan"},
                         [&] { search(decoder, {.prompts = std::vector<Ids>(prompts, {0})}, beams(width, 4)); });
    }
  }
}

TEST(Beams, AreTheSameInInferenceModeOnTwoThreads) {
  constexpr std::int64_t kMany = 125;  // ids and beams: enough rows for two threads
  torch::manual_seed(12);
  test::TableDecoder decoder(at::randn({kMany, kMany, kMany}));
  const auto best = [&] { return search(decoder, {.prompts = {{0}}}, beams(kMany, 3)).front().front().ids; };
  const Ids expected = best();
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  {
    const c10::InferenceMode inference;
    EXPECT_EQ(best(), expected);
  }
  at::set_num_threads(before);
}

TEST(Beams, RefuseWhatCannotWork) {
  test::TableDecoder decoder(random_table(11));
  const auto refused = [&](std::initializer_list<std::string_view> words, const SearchRequest& request,
                           const GenerationConfig& config) {
    test::expect_error(ErrorKind::kArgument, words, [&] { search(decoder, request, config); });
  };
  GenerationConfig config = beams(2, 3);
  refused({"no prompt"}, {}, config);
  refused({"one length", "1 and 2"}, {.prompts = {{0}, {1, 2}}}, config);
  refused({"1 sources for 2 prompts"}, {.prompts = {{0}, {1}}, .sources = {{3}}}, config);
  refused({"3 numbers for 1 prompts"}, {.prompts = {{0}}, .numbers = {1, 2, 3}}, config);
  refused({"num_beams 1"}, {.prompts = {{0}}, .on_token = [](std::int64_t, std::int64_t) { return true; }}, config);
  config.num_return_sequences = 3;
  refused({"num_return_sequences 3", "num_beams 2"}, {.prompts = {{0}}}, config);
  config = beams(1, 3);
  config.num_return_sequences = 2;
  refused({"num_return_sequences 2", "do_sample"}, {.prompts = {{0}}}, config);
  config = {};
  config.max_length = 1;
  refused({"max_length = 1", "no room"}, {.prompts = {{0}}}, config);
  config = beams(2, 3);
  config.bad_words_ids = {"1;2"};
  refused({"bad_words_ids", "'1;2'"}, {.prompts = {{0}}}, config);
}

}  // namespace
}  // namespace weft::generation
