// SPDX-License-Identifier: Apache-2.0
// BLEU, chrF and their intervals against sacrebleu, bit for bit; alignment error rates against their equation.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "metrics/fixture.h"
#include "support/expect_error.h"
#include "weft/metrics/translation/alignment_error.h"
#include "weft/metrics/translation/bleu.h"
#include "weft/metrics/translation/bleu_words.h"
#include "weft/metrics/translation/chrf.h"
#include "weft/metrics/translation/code_points.h"
#include "weft/metrics/translation/symmetrize.h"
#include "weft/text/utf8.h"

namespace weft::metrics {
namespace {

using formats::Json;
using Texts = std::vector<std::string>;

template <typename Scorer>
void add_pairs(Scorer& scorer, const Json& test) {
  for (const Json& pair : test.at("pairs")) {
    const auto texts = pair.get<Texts>();
    scorer.add(texts.front(), std::span(texts).subspan(1));
  }
}

template <typename Scorer>
void expect_interval(const Scorer& scorer, const Json& test) {
  const std::int64_t samples = test.value("samples", std::int64_t{0});
  EXPECT_EQ(scorer.signature(samples), test.at("signature").get<std::string>());
  if (samples > 0) {
    const BootstrapInterval interval = scorer.interval(samples);
    // chrF's mean is a float32 there.
    EXPECT_FLOAT_EQ(static_cast<float>(interval.mean), test.at("mean").get<float>());
    EXPECT_FLOAT_EQ(static_cast<float>(interval.half_width), test.at("half_width").get<float>());
  }
}

TEST(BleuTest, EqualsSacrebleu) {
  int cases = 0;
  for (const Json& test : test::metric_cases("bleu")) {
    const Json& given = test.at("options");
    BleuOptions options;
    options.words = given.value("tokenize", options.words);
    options.smoothing = given.value("smooth_method", options.smoothing);
    options.smoothing_value = given.value("smooth_value", options.smoothing_value);
    options.max_order = given.value("max_ngram_order", options.max_order);
    options.effective_order = given.value("effective_order", false);
    options.lowercase = given.value("lowercase", false);
    BleuScorer scorer(options);
    add_pairs(scorer, test);
    SCOPED_TRACE(test.at("signature").get<std::string>());
    EXPECT_EQ(scorer.score().score, test.at("score").get<double>());
    EXPECT_EQ(scorer.score().verbose(), test.at("verbose").get<std::string>());
    expect_interval(scorer, test);
    ++cases;
  }
  EXPECT_EQ(cases, 33);
}

TEST(ChrfTest, EqualsSacrebleu) {
  int cases = 0;
  for (const Json& test : test::metric_cases("chrf")) {
    const Json& given = test.at("options");
    ChrfOptions options;
    options.character_order = given.value("char_order", options.character_order);
    options.word_order = given.value("word_order", options.word_order);
    options.beta = given.value("beta", options.beta);
    options.lowercase = given.value("lowercase", false);
    options.whitespace = given.value("whitespace", false);
    options.epsilon_smoothing = given.value("eps_smoothing", false);
    ChrfScorer scorer(options);
    add_pairs(scorer, test);
    SCOPED_TRACE(test.at("signature").get<std::string>());
    EXPECT_EQ(scorer.score(), test.at("score").get<double>());
    EXPECT_EQ(scorer.name(), test.at("name").get<std::string>());
    expect_interval(scorer, test);
    ++cases;
  }
  EXPECT_EQ(cases, 18);
}

TEST(NumpyRandomTest, DrawsWhatNumpyDraws) {
  for (const Json& test : test::metric_cases("draws")) {
    NumpyRandom random(kBootstrapSeed);
    for (const Json& draw : test.at("draws")) {
      ASSERT_EQ(random.below(test.at("bound").get<std::uint32_t>()), draw.get<std::uint32_t>()) << test.at("bound");
    }
  }
}

TEST(TranslationMetricsTest, RefuseWhatCannotBeScored) {
  BleuScorer bleu({});
  ChrfScorer chrf({.lowercase = true});
  const Texts none;
  const Texts one = {"a"};
  test::expect_error(ErrorKind::kArgument, {"reference"}, [&] { bleu.add("a", none); });
  test::expect_error(ErrorKind::kArgument, {"sentence"}, [&] { bleu.score(); });
  test::expect_error(ErrorKind::kArgument, {"sentence"}, [&] { chrf.interval(10); });
  test::expect_error(ErrorKind::kArgument, {"\\xff", "UTF-8"}, [&] { chrf.add("\xff", one); });
  test::expect_error(ErrorKind::kArgument, {"max_order"}, [] { BleuScorer({.max_order = 0}); });
  test::expect_error(ErrorKind::kArgument, {"13a", "'moses'"}, [] { parse_bleu_words("moses"); });
}

TEST(CodePointsTest, BytesThatAreNoTextAreLetters) {
  EXPECT_EQ(code_points("a\xff中😀"), (std::u32string{'a', 0xDCFF, 0x4E2D, 0x1F600}));
  EXPECT_EQ(words_of("\u3000 a\u0085\xc3z\x1c"), (std::vector<std::string_view>{"a", "\xc3z"}));
  EXPECT_EQ(text::strip_right("a \u3000\u00a0\n"), "a");
  EXPECT_EQ(text::strip_right("a\x85"), "a\x85");
  EXPECT_EQ(text::strip_right(" \t"), "");
  EXPECT_EQ(with_replaced("aaa<n><n>b", "<n>", "\n"), "aaa\n\nb");
  EXPECT_EQ(with_replaced("aaa", "aa", "a"), "aa");  // what is written is not looked at again
}

TEST(AlignmentTest, TheErrorRateIsTheEquation) {
  AlignmentScorer scorer;
  EXPECT_FALSE(scorer.error_rate());
  scorer.add(parse_alignment("0-0 1-1 2-2 2-2"), parse_alignment("1-1 2p2 3-3 2?3", 1));
  // A = {00, 11, 22}, S = {00, 22}, P adds 11 and 12: A and S share 2, A and P share 3.
  EXPECT_EQ(scorer.error_rate(), 1.0 - 5.0 / 5.0);
  scorer.add(parse_alignment(" 5-0\t"), parse_alignment("5-1"));
  EXPECT_EQ(scorer.error_rate(), 1.0 - 5.0 / 7.0);
  EXPECT_EQ(scorer.precision(), 3.0 / 4.0);
  EXPECT_EQ(scorer.recall(), 2.0 / 3.0);
  for (const char* line : {"1", "-1", "1-", "a-b", "1-2-3", "1–2", "99999999999999999999-0", "4294967296-0"}) {
    test::expect_error(ErrorKind::kFormat, {"a link must be", "'"}, [&] { parse_alignment(line); });
  }
  test::expect_error(ErrorKind::kFormat, {"from 1", "'0-1'"}, [] { parse_alignment("0-1", 1); });
  // The largest number of a word, which `weft score aer` says.
  EXPECT_EQ(parse_alignment("0-2147483647").sure.size(), 1U);
  test::expect_error(ErrorKind::kFormat, {"'0-2147483648'"}, [] { parse_alignment("0-2147483648"); });
}

TEST(AlignmentTest, IsWrittenAsItIsRead) {
  EXPECT_EQ(pharaoh_text(parse_alignment("10-2 2-10  2-1\t0-0 0-0").sure), "0-0 2-1 2-10 10-2");
  EXPECT_EQ(pharaoh_text({}), "");
  check_words(parse_alignment("3-1 1p3"), 4, 4);
  test::expect_error(ErrorKind::kFormat, {"word 4 to word 0", "4 and 5 words"},
                     [] { check_words(parse_alignment("3-4 4?0"), 4, 5); });
  test::expect_error(ErrorKind::kFormat, {"word 0 to word 1", "1 and 1 words"},
                     [] { check_words(parse_alignment("0-1"), 1, 1); });
}

TEST(AlignmentTest, TwoDirectionsBecomeOne) {
  struct Case {
    const char* forward;
    const char* backward;
    std::vector<const char*> found;  // intersect, union, grow-diag, grow-diag-final, grow-diag-final-and
  };
  // By hand. Case 3: 1-1 is beside 0-0 and both its words are free; 2-1 is then beside 1-1 and source word 2 is free;
  // 4-4 touches nothing. Case 4: 2-0 and 0-2 are no neighbours of 0-0; each has one free word. Case 5: 1-2 is not
  // beside 0-0, and is taken by `final` of either kind; 0-2 comes too late then.
  const std::vector<Case> cases = {
      {"", "", {"", "", "", "", ""}},
      {"0-0 1-1", "0-0 1-1", {"0-0 1-1", "0-0 1-1", "0-0 1-1", "0-0 1-1", "0-0 1-1"}},
      {"0-0 1-1 4-4", "0-0 2-1", {"0-0", "0-0 1-1 2-1 4-4", "0-0 1-1 2-1", "0-0 1-1 2-1 4-4", "0-0 1-1 2-1 4-4"}},
      {"0-0 0-2", "0-0 2-0", {"0-0", "0-0 0-2 2-0", "0-0", "0-0 0-2 2-0", "0-0"}},
      {"0-0 1-2", "0-0 0-2", {"0-0", "0-0 0-2 1-2", "0-0", "0-0 1-2", "0-0 1-2"}},
      // A neighbour whose words both have links stays out; one added in a pass is grown from in the same pass.
      {"0-0 1-1 1-0", "0-0 1-1 0-1", {"0-0 1-1", "0-0 0-1 1-0 1-1", "0-0 1-1", "0-0 1-1", "0-0 1-1"}},
      {"0-0 1-0 2-0 3-0", "0-0", {"0-0", "0-0 1-0 2-0 3-0", "0-0 1-0 2-0 3-0", "0-0 1-0 2-0 3-0", "0-0 1-0 2-0 3-0"}},
      {"2-2", "0-0", {"", "0-0 2-2", "", "0-0 2-2", "0-0 2-2"}},
  };
  for (const Case& test : cases) {
    for (std::size_t way = 0; way < kSymmetrizations.size(); ++way) {
      const AlignmentLinks found =
          symmetrized(parse_alignment(test.forward).sure, parse_alignment(test.backward).sure, kSymmetrizations[way]);
      EXPECT_EQ(pharaoh_text(found), test.found[way])
          << test.forward << " | " << test.backward << " | " << kSymmetrizations[way];
    }
  }
  test::expect_error(ErrorKind::kArgument, {"intersect, union", "'both'"}, [] { symmetrized({}, {}, "both"); });
}

}  // namespace
}  // namespace weft::metrics
