// SPDX-License-Identifier: Apache-2.0
// Sentences of documents: what ends one, and that none is lost, over documents of random and hostile pieces.
#include "weft/text/sentences/sentences.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/core/random.h"

namespace weft::text {
namespace {

using Texts = std::vector<std::string>;

Texts sentences(std::string_view document, const SentenceRules& rules = {}) {
  Texts found;
  for (const SentencePlace& place : find_sentences(document, rules)) {
    found.emplace_back(place.in(document));
  }
  return found;
}

TEST(SentencesTest, EndWherePeopleEndThem) {
  const std::vector<Texts> cases = {
      {"The loom stands.", "It weaves!", "Does it?", "Yes."},
      {"Dr. J. R. Smith paid 3.50 for No. 5, e.g. thread.", "Then he left."},
      {"So did I.", "He said “Stop it.”", "(They did.)", "\"Why?\" she asked."},
      {"Wait... what?", "Wait...", "What?!", "Nothing."},
      {"「止まれ。」", "彼は言った。", "終わり！", "本当？"},
      {"Am 3. Mai kam Fr. Dr. Weber z. B. nach Ulm.", "Dann nicht."},
      {"Great!", "😀 Next one.", "🎉🎉 Nice. 👩‍👩‍👧 and family."},
      {"1. First item.", "2. Second item."},
      {"Москва. 10 г. назад.", "Да."},
      {"यह एक वाक्य है।", "दूसरा।"},
      {"no stop at all"},
  };
  for (const Texts& expected : cases) {
    std::string document;
    for (const std::string& sentence : expected) {
      document += (document.empty() ? "" : "  ") + sentence;
    }
    EXPECT_EQ(sentences(document), expected);
  }
  EXPECT_EQ(sentences("  \n\n\u3000"), Texts{});
  EXPECT_EQ(sentences(""), Texts{});
}

TEST(SentencesTest, LinesEndThemUnlessTheyAreJoined) {
  const std::string document = "A heading\n\nOne\nsentence. Two\r\n\r\n\tIndented.\n";
  EXPECT_EQ(sentences(document), (Texts{"A heading", "One", "sentence.", "Two", "Indented."}));
  EXPECT_EQ(sentences(document, {.lines = false}), (Texts{"A heading", "One\nsentence.", "Two", "Indented."}));
  const Texts texts = {"H", "1", "2", "3", "4"};
  EXPECT_EQ(with_sentences(document, find_sentences(document), texts), "H\n\n1\n2 3\r\n\r\n\t4\n");
  test::expect_error(ErrorKind::kArgument, {"5 sentences", "found 0"},
                     [&] { with_sentences(document, find_sentences(document), {}); });
  const std::vector<SentencePlace> wrong = {{4, 2}};
  test::expect_error(ErrorKind::kArgument, {"sentence 1"}, [&] { with_sentences("abcdef", wrong, Texts{"x"}); });
}

bool is_blank_byte(char byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r') || (byte >= 0x1C && byte <= 0x1F);
}

// Pieces at random; some documents are long. A bar stands between two pieces.
std::string hostile_document(std::uint64_t test) {
  constexpr std::string_view kPieces =
      "loom|The|Dr.|e.g.|3.5|...|!?|. |\n|\n\n|\r\n| |  "
      "|\t|\u3000|。|！|😀|👩‍👩‍👧|\u200b|”|(|)|'|\x1c|\u2028|-|—|"
      "\xff|\xc3|\x01|1.|U.S.|\u0301|،|؟|。」|\u0085|I.|№";
  Texts pieces(1);
  for (const char byte : kPieces) {
    if (byte == '|') {
      pieces.emplace_back();
    } else {
      pieces.back().push_back(byte);
    }
  }
  const auto draw = [&](std::uint64_t place, std::uint64_t bound) {
    return random_below(random_bits(11, test, place), bound);
  };
  std::string document;
  const std::uint64_t count = test % 100 == 0 ? 20000 : draw(0, 200);
  for (std::uint64_t i = 0; i < count; ++i) {
    document += pieces[draw(2 * i + 1, pieces.size())];
    document += draw(2 * i + 2, 2) == 0 ? " " : "";
  }
  return document;
}

void expect_nothing_lost(const std::string& document, bool lines) {
  const std::vector<SentencePlace> places = find_sentences(document, {.lines = lines});
  Texts same;
  same.reserve(places.size());
  for (const SentencePlace& place : places) {
    ASSERT_LT(place.begin, place.end);
    same.emplace_back(place.in(document));
    ASSERT_FALSE(is_blank_byte(same.back().front()) || is_blank_byte(same.back().back())) << same.back();
    ASSERT_TRUE(!lines || same.back().find('\n') == std::string::npos) << same.back();
  }
  ASSERT_EQ(with_sentences(document, places, same), document);
  const std::string between = with_sentences(document, places, Texts(places.size()));
  ASSERT_EQ(sentences(between), Texts{});  // nothing but blanks
}

TEST(SentencesTest, NoneIsLostInHostileDocuments) {
  for (std::uint64_t test = 0; test < 1000 && !testing::Test::HasFatalFailure(); ++test) {
    SCOPED_TRACE(test);
    expect_nothing_lost(hostile_document(test), true);
    expect_nothing_lost(hostile_document(test), false);
  }
}

TEST(SentencesTest, LongParagraphsAndRuns) {
  std::string paragraph;
  for (int word = 0; word < 10000; ++word) {
    paragraph += word % 12 == 11 ? "loom. The " : "thread ";
  }
  EXPECT_EQ(sentences(paragraph).size(), 10000 / 12 + 1);
  const std::string blanks = "A." + std::string(1 << 20, ' ') + "b. " + std::string(1 << 19, ')');
  std::string joined;
  for (const std::string& sentence : sentences(blanks)) {
    joined += sentence;
  }
  EXPECT_EQ(joined, "A.b. " + std::string(1 << 19, ')'));
}

}  // namespace
}  // namespace weft::text
