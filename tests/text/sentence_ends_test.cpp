// SPDX-License-Identifier: Apache-2.0
// Which tokens end a sentence: marks alone or several of them, in pieces, merges and other scripts.
#include "weft/text/sentences/sentence_ends.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/temporary_directory.h"
#include "weft/core/files.h"

namespace weft::text {
namespace {

using Ids = std::vector<std::int64_t>;

Ids ends_of(const std::string& vocabulary) {
  const test::TemporaryDirectory directory;
  write_file_atomically(directory / "vocab.txt", vocabulary);
  return sentence_end_ids(HuggingFaceTokenizer(directory.path()));
}

TEST(SentenceEnds, AreMarksAndTheSeparator) {
  const std::filesystem::path data(WEFT_TEST_DATA_DIR);
  EXPECT_EQ(sentence_end_ids(HuggingFaceTokenizer(data / "tokenizers/bert")), (Ids{22, 23, 24, 3}));
  const HuggingFaceTokenizer merges(data / "tokenizers/roberta");
  EXPECT_EQ(sentence_end_ids(merges),
            (Ids{*merges.find("!"), *merges.find("."), *merges.find("?"), *merges.special(SpecialRole::kSeparator)}));
}

TEST(SentenceEnds, MayBeSeveralMarksButNothingElse) {
  EXPECT_EQ(ends_of("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n...\n?!\n.)\na.\n\u3002\n\uff1f\uff01\n,\n"),
            (Ids{5, 6, 9, 10, 3}));
}

TEST(SentenceEnds, AreTheSeparatorAloneWithoutMarks) {
  EXPECT_EQ(ends_of("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n"), Ids{3});
}

}  // namespace
}  // namespace weft::text
