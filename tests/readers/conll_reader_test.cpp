// SPDX-License-Identifier: Apache-2.0
// Sentences in columns: tabs and blanks, documents' marks, and lines that are malformed.
#include "weft/readers/conll_reader.h"

#include <memory>

#include <gtest/gtest.h>

#include "readers/reading.h"

namespace weft::readers {
namespace {

using Words = std::vector<std::string>;

TEST(ConllReader, ReadsSentences) {
  const test::TemporaryDirectory folder;
  test::write_text(folder / "a",
                   "\n-DOCSTART- -X- O O\n\nNew  NNP B-NP B-loc\nYork NNP I-NP I-loc\n\n\n#x y\tB-a-b\n \nlast O");
  ConllReader reader(folder / "a");
  const auto sentences = test::all_records(reader);
  ASSERT_EQ(sentences.size(), 3U);
  EXPECT_EQ(sentences[0].words, (Words{"New", "York"}));
  EXPECT_EQ(sentences[0].tags, (Words{"B-loc", "I-loc"}));
  EXPECT_EQ(sentences[0].line, 4);
  EXPECT_EQ(sentences[1].words, (Words{"#x y"}));
  EXPECT_EQ(sentences[1].tags, (Words{"B-a-b"}));
  EXPECT_EQ(sentences[2].words, (Words{"last"}));
}

TEST(ConllReader, TakesTheColumnsItIsTold) {
  const test::TemporaryDirectory folder;
  test::write_text(folder / "a", "1\tNew\tB-loc\tx\n2\tYork\tI-loc\tx\n");
  ConllReader reader(folder / "a", {.word_column = 1, .tag_column = 2});
  const auto sentences = test::all_records(reader);
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_EQ(sentences[0].words, (Words{"New", "York"}));
  test::expect_error(ErrorKind::kArgument, {"word_column"}, [&] { ConllReader(folder / "a", {.word_column = -1}); });
}

TEST(ConllReader, AMalformedWordSpoilsItsSentence) {
  const test::TemporaryDirectory folder;
  const auto open = [&](const ReadOptions& options) {
    return std::make_unique<ConllReader>(folder / "a", ConllOptions{}, options);
  };
  test::write_text(folder / "a", "a O\n\nb O\nalone\nc O\n\nd O\n");
  test::expect_malformed(open, {"a' line 4", "column 0", "column -1", "found 1 column"}, 1, 2);
  test::write_text(folder / "a", "a O\n\nb person\nc O\n\nd B-\n\ne O\n");
  test::expect_malformed(open, {"line 3", "tag", "'person'"}, 2, 2);
  test::write_text(folder / "a", "\xff O\n\nd O\n");
  test::expect_malformed(open, {"line 1", "UTF-8"}, 1, 1);
}

}  // namespace
}  // namespace weft::readers
