// SPDX-License-Identifier: Apache-2.0
// ESM's letters: ids as EsmTokenizer of transformers 5.23 gives them with the released vocabulary, which has no
// offsets to compare.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"
#include "weft/text/hugging_face.h"

namespace weft::text {
namespace {

const std::filesystem::path kLetters = std::filesystem::path(WEFT_TEST_DATA_DIR) / "tokenizers/esm";

TEST(EsmTokenizer, EqualsTransformers) {
  using Ids = std::vector<std::int64_t>;
  const HuggingFaceTokenizer tokenizer(kLetters);
  for (const auto& [text, ids] :
       {std::pair<std::string_view, Ids>{"MKTAYIAKQR", {20, 15, 11, 5, 19, 12, 5, 15, 16, 10}},
        {"MK L\tV<mask>A", {20, 15, 4, 7, 32, 5}},
        {"mkv", {3}},
        {"MxyK xq z-.", {20, 3, 15, 3, 3, 30, 29}},
        {"M<null_1>K<pad>", {20, 31, 15, 1}},
        {"", {}},
        {" ", {}},
        {"m\x1cm\x1fK", {3, 3, 15}},
        {"JJ Jj \u00c5M", {3, 3, 3, 20}},
        {"M|K.(A)", {20, 3, 15, 29, 3, 5, 3}},
        {"<cls>M<eos>", {0, 20, 2}}}) {
    EXPECT_EQ(tokenizer.encode_windows(text, EncodeOptions{.special_tokens = false}).front().ids, ids) << text;
    Ids framed = ids;
    framed.insert(framed.begin(), 0);
    framed.push_back(2);
    EXPECT_EQ(tokenizer.encode_windows(text, EncodeOptions{}).front().ids, framed) << text;
    framed.insert(framed.end(), {7, 4, 2});
    EXPECT_EQ(tokenizer.encode_windows(text, "VL", EncodeOptions{}).front().ids, framed) << text;
  }
  EXPECT_EQ(tokenizer.decode({20, 15, 3, 29}), "M K <unk> .");
}

TEST(EsmTokenizer, RefusesAVocabularyOfWords) {
  const test::TemporaryDirectory folder;
  std::string words;
  for (int i = 0; i < 5000; ++i) {
    words += std::to_string(i) + "\n";
  }
  write_file_atomically(folder / "vocab.txt", words);
  write_file_atomically(folder / "tokenizer_config.json", R"({"tokenizer_class": "EsmTokenizer"})");
  test::expect_error(ErrorKind::kFormat, {"4096", "5000"}, [&] { HuggingFaceTokenizer{folder.path()}; });
}

}  // namespace
}  // namespace weft::text
