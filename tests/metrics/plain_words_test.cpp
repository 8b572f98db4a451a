// SPDX-License-Identifier: Apache-2.0
// Words of scripts with blanks and without, and where ROUGE's own words say nothing of a text.
#include "weft/metrics/summary/plain_words.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/metrics/summary/sentence_scores.h"

namespace weft::metrics {
namespace {

using Words = std::vector<std::string>;

TEST(PlainWords, StandBetweenBlanksAndSigns) {
  EXPECT_EQ(plain_words("The loom's 3.5 Threads—red, (blue)."),
            (Words{"the", "loom", "s", "3", "5", "threads", "red", "blue"}));
  EXPECT_EQ(plain_words("Le «CHAT» dort… ¿Qué? naïve"), (Words{"le", "chat", "dort", "qué", "naïve"}));
  EXPECT_EQ(plain_words("Ткач ткёт нить; «красную»."), (Words{"ткач", "ткёт", "нить", "красную"}));
  EXPECT_EQ(plain_words("ما هذا؟ نعم،"), (Words{"ما", "هذا", "نعم"}));
  EXPECT_EQ(plain_words("यह क्या है।"), (Words{"यह", "क्या", "है"}));
  EXPECT_EQ(plain_words(" … — "), Words{});
}

TEST(PlainWords, AreLettersWhereAScriptHasNoBlanks) {
  EXPECT_EQ(plain_words("红球。AI2很好！"), (Words{"红", "球", "ai2", "很", "好"}));
  EXPECT_EQ(plain_words("赤いボール、"), (Words{"赤", "い", "ボ", "ー", "ル"}));
  EXPECT_EQ(plain_words("빨간 공"), (Words{"빨간", "공"}));
  EXPECT_EQ(plain_words("a\xffz"), (Words{"a", "z"}));
}

TEST(PlainWords, RougeSuitsTextsOfItsOwnLetters) {
  const auto suits = [](const std::string& text) { return suits_rouge(std::vector{text}); };
  EXPECT_TRUE(suits("The café is naïve — “yes”."));
  EXPECT_TRUE(suits("...") && suits(""));
  EXPECT_FALSE(suits("Ткач ткёт 3 нити"));
  EXPECT_FALSE(suits("红球很好 AI"));
}

// Each word of one script is one of the other.
TEST(PlainWords, ScoresOfSentencesAreThoseOfAnyScript) {
  const Words latin = {"zig zog bud", "bud zig", "kep bud kep", "mol"};
  const Words greek = {"Ζιγ ζογ βυδ.", "βυδ ζιγ", "κεπ «βυδ» κεπ", "μολ!"};
  for (const WordCounts counts : {WordCounts::kAll, WordCounts::kOnce}) {
    EXPECT_EQ(sentence_scores(greek, counts), sentence_scores(latin, counts));
    EXPECT_EQ(greedy_order(greek, counts), greedy_order(latin, counts));
  }
  EXPECT_GT(sentence_scores(greek, WordCounts::kAll)[1], 0);
}

}  // namespace
}  // namespace weft::metrics
