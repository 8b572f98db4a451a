// SPDX-License-Identifier: Apache-2.0
// Ids and the words that they belong to, for tokenisers of bytes, pieces and merges; white space of all kinds.
#include "weft/text/pair/word_ids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "support/temporary_directory.h"
#include "weft/core/files.h"
#include "weft/text/hugging_face.h"

namespace weft::text {
namespace {

using Ids = std::vector<std::int64_t>;

const std::filesystem::path kData(WEFT_TEST_DATA_DIR);

TEST(WordIds, WordsLieBetweenBlanksOfEveryKind) {
  using Words = std::vector<std::string_view>;
  EXPECT_EQ(words_between_blanks(""), Words());
  EXPECT_EQ(words_between_blanks(" \t\n\v\f\r"), Words());
  EXPECT_EQ(words_between_blanks(" der  Fluß,\t\xff 5\u00a0km 😀\n"),
            (Words{"der", "Fluß,", "\xff", "5\u00a0km", "😀"}));
}

TEST(WordIds, OfBytesAreTheTextItself) {
  const auto tokenizer = make_pair_tokenizer(make_byte_tokenizer(), {.before = {1}, .behind = {2, 3}});
  const WordIds read = read_words(*tokenizer, " ab  c ", Side::kSource);
  EXPECT_EQ(read.words, (std::vector<std::string>{"ab", "c"}));
  EXPECT_EQ(read.ids, (Ids{1, ' ', 'a', 'b', ' ', ' ', 'c', ' ', 2, 3}));
  EXPECT_EQ(read.word, (Ids{-1, 0, 0, 0, 1, 1, 1, -1, -1, -1}));
  EXPECT_FALSE(read.one_by_one);
  const WordIds empty = read_words(*tokenizer, "", Side::kTarget);
  EXPECT_EQ(empty.ids, (Ids{1, 2, 3}));
  EXPECT_EQ(empty.word, (Ids{-1, -1, -1}));
}

// What the model reads is what it always reads, and every word has the tokens that its letters are in.
TEST(WordIds, AreThoseOfTheWholeText) {
  const std::vector<std::string> texts = {"the loom weaves the thread, and we'll see.",
                                          "Hello,  world!\tA man",
                                          "a",
                                          "",
                                          "Der Fluß führt über die Brücke 😀 .",
                                          " 12 ' ' x "};
  std::vector<std::unique_ptr<PairTokenizer>> tokenizers;
  for (const char* name : {"pairs/marian-codes", "pairs/marian-separate", "pairs/pegasus", "pairs/bigbird_pegasus",
                           "tokenizers/roberta", "tokenizers/bert"}) {
    tokenizers.push_back(load_pair_tokenizer(kData / name));
  }
  for (const auto& tokenizer : tokenizers) {
    for (const std::string& text : texts) {
      for (const Side side : {Side::kSource, Side::kTarget}) {
        const WordIds read = read_words(*tokenizer, text, side);
        EXPECT_EQ(read.ids, tokenizer->encode(text, side)) << text;
        EXPECT_FALSE(read.one_by_one) << text;
        ASSERT_EQ(read.word.size(), read.ids.size());
        std::int64_t last = -1;
        for (std::size_t i = 0; i < read.ids.size(); ++i) {
          EXPECT_TRUE(read.word[i] == -1 || read.word[i] == last || read.word[i] == last + 1) << text;
          last = std::max(last, read.word[i]);
        }
        EXPECT_EQ(last + 1, std::ssize(read.words)) << text;
        const WordIds plain = read_plain_words(*tokenizer, text, side);
        EXPECT_EQ(plain.ids, read.ids) << text;
        EXPECT_EQ(plain.word, read.word) << text;
      }
    }
  }
  const WordIds coded = read_words(*tokenizers.front(), "a man", Side::kSource, ">>de<< ");
  EXPECT_EQ(coded.ids, tokenizers.front()->encode(">>de<< a man", Side::kSource));
  EXPECT_EQ(coded.words.size(), 2U);
  EXPECT_EQ(coded.word.front(), -1);
}

TEST(WordIds, SpecialTokensThatAreWrittenAreLetters) {
  std::vector<std::unique_ptr<PairTokenizer>> tokenizers;
  tokenizers.push_back(load_pair_tokenizer(kData / "pairs/marian-codes"));
  tokenizers.push_back(load_pair_tokenizer(kData / "tokenizers/roberta"));
  tokenizers.push_back(
      make_pair_tokenizer(std::make_shared<const HuggingFaceTokenizer>(kData / "tokenizers/roberta"), {.behind = {2}}));
  for (const auto& tokenizer : tokenizers) {
    const std::string text = "a man </s> wove";
    const WordIds plain = read_plain_words(*tokenizer, text, Side::kTarget);
    EXPECT_EQ(plain.words.size(), 4U);
    EXPECT_EQ(plain.ids.back(), tokenizer->find("</s>", Side::kTarget));
    EXPECT_EQ(std::count(plain.ids.begin(), plain.ids.end(), plain.ids.back()), 1);
    EXPECT_EQ(std::count(plain.word.begin(), plain.word.end(), -1), tokenizer->frame().size());
  }
  EXPECT_EQ(read_words(*tokenizers.back(), "a </s>", Side::kSource).ids,
            read_plain_words(*tokenizers.back(), "a </s>", Side::kSource).ids);
}

TEST(WordIds, AWordAloneIsReadWhereTokensLieInTwo) {
  const test::TemporaryDirectory directory;
  write_file_atomically(directory.path() / "tokenizer.json",
                        R"({"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":null,
                            "post_processor":null,"decoder":null,"model":{"type":"BPE",
                            "vocab":{"a":0," ":1,"b":2,"a ":3,"a b":4,"e":5},"merges":[["a"," "],["a ","b"]]}})");
  write_file_atomically(directory.path() / "tokenizer_config.json", R"({"tokenizer_class":"PreTrainedTokenizerFast"})");
  const auto tokenizer =
      make_pair_tokenizer(std::make_shared<const HuggingFaceTokenizer>(directory.path()), {.behind = {5}});
  ASSERT_EQ(tokenizer->encode("a b", Side::kSource), (Ids{4, 5}));
  const WordIds read = read_words(*tokenizer, "a b", Side::kSource);
  EXPECT_TRUE(read.one_by_one);
  EXPECT_EQ(read.ids, (Ids{0, 1, 2, 5}));
  EXPECT_EQ(read.word, (Ids{0, 1, 1, -1}));
}

}  // namespace
}  // namespace weft::text
