// SPDX-License-Identifier: Apache-2.0
// Which id is the unknown one, and when its share is worth a warning.
#include "weft/text/unknown_tokens.h"

#include <gtest/gtest.h>

#include "sentencepiece_model.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"
#include "weft/text/hugging_face.h"

namespace weft::text {
namespace {

class UnknownTokensTest : public ::testing::Test {
 protected:
  UnknownTokensTest() {
    write_file_atomically(directory_ / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nloom\n");
  }
  // What is written to stderr.
  template <typename Work>
  static std::string said(const Work& work) {
    testing::internal::CaptureStderr();
    work();
    return testing::internal::GetCapturedStderr();
  }
  test::TemporaryDirectory directory_;
};

TEST_F(UnknownTokensTest, TheIdIsTheTokenisersOwn) {
  EXPECT_EQ(unknown_id(HuggingFaceTokenizer(directory_.path())), 1);
  EXPECT_FALSE(unknown_id(*make_byte_tokenizer()));
  const test::TemporaryDirectory other;
  write_file_atomically(other / "tokenizer.model", small_model());
  const auto pieces = load_sentencepiece(other / "tokenizer.model");
  EXPECT_FALSE(unknown_id(*pieces)) << "it falls back to bytes";
}

TEST_F(UnknownTokensTest, HalfOfTheTokensIsWorthAWarningAndOneIsEnough) {
  const HuggingFaceTokenizer tokenizer(directory_.path());
  UnknownTokens unknown(tokenizer, "'dir'");
  unknown.add(tokenizer.encode("the loom hello the loom"));
  EXPECT_EQ(said([&] { unknown.warn("of the text"); }), "");
  const std::vector<Encoding> windows = tokenizer.encode_windows("hello world and we");
  unknown.add(windows.front().ids, windows.front().special_mask);
  EXPECT_EQ(unknown.tokens(), 9);
  EXPECT_EQ(unknown.unknown(), 5);
  const std::string message = said([&] { unknown.warn("of the text"); });
  for (const char* words : {"55% of the tokens of the text", "5 of 9", "[UNK]", "'dir'"}) {
    EXPECT_NE(message.find(words), std::string::npos) << message;
  }
  EXPECT_EQ(said([&] { unknown.warn("of the text"); }), "");
  EXPECT_NE(said([&] { warn_of_unknown_text(tokenizer, "hello", "'dir'"); }), "");
  EXPECT_EQ(said([&] { warn_of_unknown_text(tokenizer, "the", "'dir'"); }), "");
}

TEST_F(UnknownTokensTest, AVocabularyMuchSmallerThanItsModelIsSaid) {
  const HuggingFaceTokenizer tokenizer(directory_.path());
  EXPECT_EQ(said([&] { warn_of_small_vocabulary(tokenizer, 15, "'dir'"); }), "");
  const std::string message = said([&] { warn_of_small_vocabulary(tokenizer, 50358, "'dir'"); });
  EXPECT_NE(message.find("'dir': the tokeniser has 7 tokens and the model 50358 rows"), std::string::npos) << message;
}

}  // namespace
}  // namespace weft::text
