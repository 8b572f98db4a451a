// SPDX-License-Identifier: Apache-2.0
// Names of an answer in a text, as people write them.
#include "weft/fine_tuning/open_answers/answer_names.h"

#include <gtest/gtest.h>

namespace weft::fine_tuning {
namespace {

std::vector<std::string> found(const std::vector<std::string>& names, const std::string& text) {
  std::vector<std::string> texts;
  for (const text::Span& place : AnswerNames(names).places(text)) {
    texts.push_back(
        text.substr(static_cast<std::size_t>(place.begin), static_cast<std::size_t>(place.end - place.begin)));
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(AnswerNames, AreFoundInAnyCaseAndWhateverStandsBetweenTheirWords) {
  EXPECT_EQ(found({"sunset boulevard"}, "On Sunset_Boulevard, the SUNSET  boulevard; sunset. Boulevards"),
            (Texts{"Sunset_Boulevard", "SUNSET  boulevard"}));
  EXPECT_EQ(found({"weaver s loom"}, "the Weaver’s loom, a weaver's the loom"),
            (Texts{"Weaver’s loom", "weaver's the loom"}));
  EXPECT_EQ(found({"éva"}, "ÉVA éva eva"), (Texts{"ÉVA", "éva"}));
}

TEST(AnswerNames, SeveralNamesMayLieInEachOther) {
  EXPECT_EQ(found({"the loom", "old loom", "old"}, "an old loom"), (Texts{"old loom", "old", "loom"}));
  EXPECT_EQ(found({"old", "old"}, "old"), (Texts{"old"}));
}

TEST(AnswerNames, ANameWithoutAWordIsNeverFound) {
  EXPECT_EQ(found({"the", "", "...", " "}, "the ... a"), Texts{});
  EXPECT_EQ(found({"loom"}, ""), Texts{});
  EXPECT_EQ(found({}, "the loom"), Texts{});
}

TEST(AnswerNames, BytesThatAreNoTextDoNotStopIt) { EXPECT_EQ(found({"loom"}, "\xff\xfe loom \xc3"), (Texts{"loom"})); }

}  // namespace
}  // namespace weft::fine_tuning
