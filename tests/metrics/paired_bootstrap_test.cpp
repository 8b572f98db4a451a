// SPDX-License-Identifier: Apache-2.0
// Two systems beside each other: p as sacrebleu 2.6.0 gives it (PairedTest, 300 samples, its seed).
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/metrics/translation/bleu.h"
#include "weft/metrics/translation/bootstrap.h"

namespace weft::metrics {
namespace {

constexpr int kSentences = 30;
constexpr std::int64_t kSamples = 300;

// A sentence in which a system with `offset` makes another word of some; below 0 none.
std::string drawn_sentence(int number, int offset) {
  const std::vector<std::string> words = {"the", "loom", "weaves", "a",    "thread", "while",
                                          "man", "and",  "bridge", "walk", "over"};
  std::string text;
  for (int place = 0; place < 6 + number % 5; ++place) {
    int word = (number * number + 3 * place) % 11;
    const bool wrong = offset >= 0 && (number * number * 3 + place * 5 + offset * number) % 7 == 0;
    word = wrong ? (word + 1) % 11 : word;
    text += (place == 0 ? "" : " ") + words[static_cast<std::size_t>(word)];
  }
  return text;
}

BleuScorer scored_system(int offset) {
  BleuScorer scorer{BleuOptions()};
  for (int number = 0; number < kSentences; ++number) {
    const std::vector<std::string> reference = {drawn_sentence(number, -1)};
    scorer.add(drawn_sentence(number, offset), reference);
  }
  return scorer;
}

TEST(PairedBootstrap, EqualsSacrebleu) {
  struct Case {
    int system;
    int baseline;
    double baseline_score;
    double system_score;
    double p_value;
  };
  const std::vector<Case> cases = {{1, 2, 66.26014596985269, 64.24286658046168, 0.14285714285714285},
                                   {0, 3, 60.126556612548356, 65.07093407044482, 0.03986710963455149},
                                   {4, 5, 66.14349423041993, 59.871702707386476, 0.036544850498338874},
                                   {2, 6, 63.63958036947961, 66.26014596985269, 0.07973421926910298},
                                   {1, 5, 66.14349423041993, 64.24286658046168, 0.12956810631229235}};
  for (const Case& each : cases) {
    const BleuScorer system = scored_system(each.system);
    const BleuScorer baseline = scored_system(each.baseline);
    EXPECT_EQ(baseline.score().score, each.baseline_score);
    EXPECT_EQ(system.score().score, each.system_score);
    const double difference = std::abs(each.system_score - each.baseline_score);
    EXPECT_EQ(paired_p_value(system.resampled(kSamples), baseline.resampled(kSamples), difference), each.p_value);
  }
}

TEST(PairedBootstrap, RefusesOtherResamples) {
  const std::vector<double> one = {1.0};
  test::expect_error(ErrorKind::kArgument, {"same resamples", "1 and 0"}, [&] { paired_p_value(one, {}, 0.1); });
  test::expect_error(ErrorKind::kArgument, {"0 and 0"}, [&] { paired_p_value({}, {}, 0.1); });
}

}  // namespace
}  // namespace weft::metrics
