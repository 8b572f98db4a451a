// SPDX-License-Identifier: Apache-2.0
// Transformer-XL's vocabularies of words, from every file that may hold one.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"
#include "weft/text/hugging_face.h"

namespace weft::text {
namespace {

const std::filesystem::path kPickledWords = std::filesystem::path(WEFT_TEST_DATA_DIR) / "transformer_xl" / "pickled";

TEST(Words, EndLinesAndComeBack) {
  const test::TemporaryDirectory directory;
  write_file_atomically(directory / "vocab.json", R"({"<eos>":0,"<unk>":1,"the":2,"graph":3,"##the":4})");
  const HuggingFaceTokenizer words(directory.path());
  EXPECT_EQ(words.kind(), "huggingface");
  EXPECT_EQ(words.vocabulary_size(), 5);
  EXPECT_EQ(words.encode("the  graph\n\tthe\r\n\n other <unk>"), (std::vector<std::int64_t>{2, 3, 0, 2, 0, 0, 1, 1}));
  EXPECT_EQ(words.encode(""), std::vector<std::int64_t>());
  EXPECT_EQ(words.decode({2, 3, 0, 2, 0, 0, 4}), "the graph\n the\n\n ##the");
}

TEST(Words, MayBePickledOrLines) {
  for (const char* name : {"vocab.pkl", "vocab.bin"}) {
    const test::TemporaryDirectory directory;
    std::filesystem::copy(kPickledWords / name, directory / name);
    ASSERT_TRUE(HuggingFaceTokenizer::present_in(directory.path()));
    const HuggingFaceTokenizer words(directory.path());
    EXPECT_EQ(words.encode("the graph\nw\u00f6rd32"), (std::vector<std::int64_t>{2, 4, 0, 39}));
    words.save(directory / "");
    EXPECT_NE(read_file(directory / "vocab.json").find("\"<eos>\":0"), std::string::npos)
        << "what is saved is no pickle";
    EXPECT_EQ(HuggingFaceTokenizer(directory.path()).encode("graph"), (std::vector<std::int64_t>{4}));
  }
}

TEST(Words, NeedAnUnknownOneForWhatTheyLack) {
  const test::TemporaryDirectory directory;
  write_file_atomically(directory / "vocab.json", R"({"<eos>":0,"a":1})");
  const HuggingFaceTokenizer words(directory.path());
  EXPECT_EQ(words.encode("a a\n"), (std::vector<std::int64_t>{1, 1, 0}));
  test::expect_error(ErrorKind::kArgument, {"vocab.json"}, [&] { words.encode("a b"); });
}

}  // namespace
}  // namespace weft::text
