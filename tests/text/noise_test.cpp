// SPDX-License-Identifier: Apache-2.0
// Noise is a pure function of its key, hides what it says, and loses nothing.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/text/noise/gap_sentences.h"
#include "weft/text/noise/token_noise.h"
#include "weft/text/noise/word_noise.h"

namespace weft::text {
namespace {

constexpr std::int64_t kNoiseMask = 9999;

NoiseIds numbered(std::size_t count) {
  NoiseIds ids(count);
  std::iota(ids.begin(), ids.end(), std::int64_t{0});
  return ids;
}

// Sentinels as T5 numbers them.
NoiseIds falling_sentinels() {
  NoiseIds ids(100);
  std::iota(ids.rbegin(), ids.rend(), std::int64_t{32000});
  return ids;
}

TEST(WordNoise, AWordStandsBetweenBlanks) {
  EXPECT_TRUE(has_word("_", "_") && has_word("a\t_ b", "_") && has_word("__ _", "_"));
  EXPECT_FALSE(has_word("", "_") || has_word("a_b __ _c", "_"));
}

TEST(NoiseDraws, PartsSumUpAndAreEquallyLikely) {
  std::map<std::vector<std::size_t>, int> counts;
  for (std::uint64_t key = 0; key < 12000; ++key) {
    NoiseDraws draws(key);
    ++counts[draws.parts_of(5, 3)];
  }
  ASSERT_EQ(counts.size(), 6U);  // (4 over 2) ways
  for (const auto& [parts, count] : counts) {
    EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), std::size_t{0}), 5U);
    // 12,000 draws of one in six: five standard deviations are 204.
    EXPECT_NEAR(count, 2000, 204);
  }
  NoiseDraws draws(1);
  EXPECT_EQ(draws.parts_of(3, 3), (std::vector<std::size_t>{1, 1, 1}));
  test::expect_error(ErrorKind::kArgument, {"cut 2 things into 3"}, [&] { draws.parts_of(2, 3); });
}

TEST(NoiseDraws, PoissonNumbersHaveTheirMean) {
  NoiseDraws draws(7);
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    const auto number = static_cast<double>(draws.poisson(3.0));
    sum += number;
    squares += number * number;
  }
  const double mean = sum / kDraws;
  EXPECT_NEAR(mean, 3.0, 0.06);  // five standard deviations
  EXPECT_NEAR(squares / kDraws - mean * mean, 3.0, 0.2);
}

TEST(TokenNoise, T5HidesSpansOfThePublishedLengths) {
  const SpanCounts counts = span_counts(568, 0.15, 3.0);
  EXPECT_EQ(counts.hidden, 85U);
  EXPECT_EQ(counts.spans, 28U);
  const NoiseIds ids = numbered(568);
  NoiseDraws draws(3);
  const NoisedText text = hidden_spans(ids, counts, falling_sentinels(), draws);
  // With an end each, 512 and 114, as in the published program: no sentinel follows the last span.
  EXPECT_EQ(text.source.size(), 511U);
  EXPECT_EQ(text.target.size(), 113U);
  EXPECT_LT(text.source.front(), 568) << "what is not hidden comes first";
  EXPECT_EQ(text.source.back(), 32099 - 27);
  EXPECT_EQ(text.target.front(), 32099);
  EXPECT_LT(text.target.back(), 568);
}

// The text again: each sentinel of the source replaced by what follows it in the target.
NoiseIds restored(const NoisedText& text) {
  std::map<std::int64_t, NoiseIds> spans;
  std::int64_t sentinel = 0;
  for (const std::int64_t id : text.target) {
    if (id >= 32000) {
      sentinel = id;
    } else {
      spans[sentinel].push_back(id);
    }
  }
  NoiseIds ids;
  for (const std::int64_t id : text.source) {
    if (id < 32000) {
      ids.push_back(id);
    } else {
      EXPECT_FALSE(spans[id].empty());
      ids.insert(ids.end(), spans[id].begin(), spans[id].end());
    }
  }
  return ids;
}

TEST(TokenNoise, HiddenSpansLoseNothing) {
  for (std::size_t size = 2; size < 90; ++size) {
    const NoiseIds ids = numbered(size);
    for (const double share : {0.01, 0.15, 0.5, 0.9}) {
      NoiseDraws draws(size);
      const SpanCounts counts = span_counts(size, share, 3.0);
      const NoisedText text = hidden_spans(ids, counts, falling_sentinels(), draws);
      EXPECT_EQ(restored(text), ids);
      EXPECT_EQ(text.source.size(), size - counts.hidden + counts.spans);
      EXPECT_EQ(text.target.size(), counts.hidden + counts.spans);
    }
  }
  test::expect_error(ErrorKind::kArgument, {"two tokens", "1"}, [] { span_counts(1, 0.15, 3.0); });
  NoiseDraws draws(0);
  test::expect_error(ErrorKind::kArgument, {"28 hidden spans", "3 sentinels"},
                     [&] { hidden_spans(numbered(568), {85, 28}, std::vector<std::int64_t>{5, 6, 7}, draws); });
}

TEST(TokenNoise, InfillingHidesItsShareInSpansThatDoNotTouch) {
  double lengths = 0;
  double spans = 0;
  for (std::uint64_t key = 0; key < 300; ++key) {
    const NoiseIds ids = numbered(100);
    NoiseDraws draws(key);
    const NoiseIds filled = filled_in(ids, {.share = 0.3, .mean = 3.0, .mask = kNoiseMask, .most = 200}, draws);
    NoiseIds kept;
    std::copy_if(filled.begin(), filled.end(), std::back_inserter(kept), [](std::int64_t id) { return id < 100; });
    EXPECT_EQ(kept.size(), 70U);
    EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
    std::int64_t before = -1;
    for (const std::int64_t id : kept) {
      spans += id > before + 1 ? 1 : 0;
      lengths += static_cast<double>(id - before - 1);
      before = id;
    }
    spans += before < 99 ? 1 : 0;
    lengths += static_cast<double>(99 - before);
    NoiseDraws again(key);
    EXPECT_EQ(filled, filled_in(ids, {.share = 0.3, .mean = 3.0, .mask = kNoiseMask, .most = 200}, again));
    NoiseDraws tight(key);
    const NoiseIds short_one = filled_in(ids, {.share = 0.3, .mean = 3.0, .mask = kNoiseMask, .most = 100}, tight);
    EXPECT_LE(short_one.size(), 100U);
  }
  // A Poisson number of mean 3 that is not 0 has mean 3 / (1 - e^-3) = 3.157; the last span of a text is cut.
  EXPECT_NEAR(lengths / spans, 3.1, 0.2);
}

TEST(TokenNoise, InfillingOfAllOrLittle) {
  NoiseDraws draws(1);
  EXPECT_EQ(filled_in(numbered(4), {.share = 1.0, .mean = 1.0, .mask = kNoiseMask, .most = 4}, draws).front(),
            kNoiseMask);
  EXPECT_EQ(filled_in(numbered(1), {.share = 0.3, .mean = 100.0, .mask = kNoiseMask, .most = 1}, draws),
            NoiseIds{kNoiseMask});
  EXPECT_EQ(filled_in(numbered(5), {.share = 0.0, .mean = 3.0, .mask = kNoiseMask, .most = 5}, draws), numbered(5));
  test::expect_error(ErrorKind::kArgument, {"5 tokens", "4"}, [&] {
    filled_in(numbered(5), {.share = 0.3, .mean = 3.0, .mask = kNoiseMask, .most = 4}, draws);
  });
}

TEST(TokenNoise, MasksDeletesTurnsAndPermutes) {
  const NoiseIds ids = numbered(1000);
  NoiseDraws draws(5);
  const NoiseIds masked = masked_tokens(ids, 0.3, kNoiseMask, draws);
  EXPECT_NEAR(static_cast<double>(std::count(masked.begin(), masked.end(), kNoiseMask)), 300, 75);
  const NoiseIds left = deleted_tokens(ids, 0.3, draws);
  EXPECT_NEAR(static_cast<double>(left.size()), 700, 75);
  EXPECT_TRUE(std::is_sorted(left.begin(), left.end()));
  EXPECT_EQ(deleted_tokens(numbered(3), 1.0, draws).size(), 1U);
  const NoiseIds turned = turned_round(ids, draws);
  EXPECT_EQ(std::adjacent_find(turned.begin(), turned.end(), [](auto a, auto b) { return b != (a + 1) % 1000; }),
            turned.end());
  const std::vector<std::size_t> ends = {2, 3, 7, 10};
  std::set<NoiseIds> orders;
  for (std::uint64_t key = 0; key < 500; ++key) {
    NoiseDraws other(key);
    NoiseIds permuted = permuted_sentences(numbered(10), ends, other);
    orders.insert(permuted);
    std::sort(permuted.begin(), permuted.end());
    EXPECT_EQ(permuted, numbered(10));
  }
  EXPECT_EQ(orders.size(), 24U);
  test::expect_error(ErrorKind::kArgument, {"must end with it"},
                     [&] { permuted_sentences(numbered(11), ends, draws); });
}

TEST(GapSentences, TheBestAreHiddenInTheOrderOfTheText) {
  const NoiseIds ids = numbered(10);
  const std::vector<std::size_t> ends = {2, 3, 7, 10};
  const std::vector<double> scores = {0.1, 0.9, 0.5, 0.5};
  const ScoredText text = {ids, ends, scores};
  NoiseDraws draws(0);
  const auto gaps = [&](double share, std::size_t most) {
    return chosen_gaps(text, {.share = share, .mask = kNoiseMask, .most = most}, draws);
  };
  EXPECT_EQ(gaps(0.3, 10), (std::vector<std::size_t>{1}));
  EXPECT_EQ(gaps(0.5, 10), (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(gaps(0.5, 4), (std::vector<std::size_t>{1, 3})) << "sentence 2 has no room";
  EXPECT_EQ(gaps(1.0, 10), (std::vector<std::size_t>{1, 2, 3})) << "one stays";
  const NoisedText noised = gap_sentences(text, {.share = 0.5, .mask = kNoiseMask, .most = 10}, draws);
  EXPECT_EQ(noised.source, (NoiseIds{0, 1, kNoiseMask, kNoiseMask, 7, 8, 9}));
  EXPECT_EQ(noised.target, (NoiseIds{2, 3, 4, 5, 6}));
}

TEST(GapSentences, NoiseOnScoresChangesChoices) {
  const NoiseIds ids = numbered(3);
  const std::vector<std::size_t> ends = {1, 2, 3};
  const std::vector<double> scores = {0.5, 0.55, 0.1};
  std::map<std::size_t, int> counts;
  for (std::uint64_t key = 0; key < 400; ++key) {
    NoiseDraws draws(key);
    ++counts[chosen_gaps({ids, ends, scores}, {.share = 0.3, .score_noise = 0.2, .most = 9}, draws).front()];
  }
  EXPECT_GT(counts[0], 50);
  EXPECT_GT(counts[1], counts[0]);
  EXPECT_EQ(counts[2], 0);
}

TEST(GapSentences, RefusesWhatHasNoGap) {
  const NoiseIds ids = numbered(4);
  const std::vector<std::size_t> ends = {2, 4};
  const std::vector<double> scores = {0.5, 0.5};
  NoiseDraws draws(0);
  test::expect_error(ErrorKind::kArgument, {"no sentence", "1 tokens"},
                     [&] { gap_sentences({ids, ends, scores}, {.share = 0.3, .most = 1}, draws); });
  test::expect_error(ErrorKind::kArgument, {"two sentences", "2 and 1"},
                     [&] { chosen_gaps({ids, ends, std::span(scores).first(1)}, {.share = 0.3, .most = 9}, draws); });
  test::expect_error(ErrorKind::kArgument, {"must end with it"},
                     [&] { chosen_gaps({std::span(ids).first(3), ends, scores}, {.share = 0.3, .most = 9}, draws); });
}

TEST(WordNoise, NoWordMovesOverMoreThanItsPlaces) {
  std::string text;
  for (int word = 0; word < 40; ++word) {
    text += std::to_string(word) + (word % 3 == 0 ? "  " : "\t");
  }
  bool moved = false;
  for (std::uint64_t key = 0; key < 300; ++key) {
    NoiseDraws draws(key);
    std::istringstream words(noised_words(text, {.drop = 0, .blank = 0, .shuffle = 3}, draws));
    int place = 0;
    for (int word = 0; words >> word; ++place) {
      EXPECT_LE(std::abs(word - place), 3);
      moved = moved || word != place;
    }
    EXPECT_EQ(place, 40);
  }
  EXPECT_TRUE(moved);
  NoiseDraws draws(1);
  EXPECT_EQ(noised_words(" a  b ", {.drop = 0, .blank = 0, .shuffle = 0}, draws), "a b");
}

TEST(WordNoise, DropsAndFillsItsShare) {
  std::string text;
  for (int word = 0; word < 10000; ++word) {
    text += "word ";
  }
  NoiseDraws draws(2);
  const std::string noised = noised_words(text, {}, draws);
  // 10,000 draws of a tenth: five standard deviations are 150.
  const auto left = static_cast<double>(std::count(noised.begin(), noised.end(), ' ') + 1);
  EXPECT_NEAR(left, 9000, 150);
  EXPECT_NEAR(static_cast<double>(std::count(noised.begin(), noised.end(), '_')), 0.1 * left, 150);
  EXPECT_EQ(noised_words("loom", {.drop = 1.0, .blank = 0.0}, draws), "loom") << "one word stays";
  EXPECT_EQ(noised_words(" ", {}, draws), "");
}

}  // namespace
}  // namespace weft::text
