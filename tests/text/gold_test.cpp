// SPDX-License-Identifier: Apache-2.0
// Gold tokenisations that others published, from WEFT_DATA: 10,570 questions in BERT's WordPiece, and a French text cut
// by GPT-2's rule for words.
#include <cstdlib>

#include <gtest/gtest.h>

#include "support/temporary_directory.h"
#include "weft/core/files.h"
#include "weft/formats/config_json.h"
#include "weft/text/hugging_face.h"

namespace weft::text {
namespace {

using formats::Json;

class Gold : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("WEFT_DATA");
    if (data == nullptr) {
      GTEST_SKIP() << "WEFT_DATA is not set";
    }
    folder_ = std::filesystem::path(data) / "tokenizers";
  }

  // A tokeniser of files in the data, under the names that a model directory has.
  std::unique_ptr<HuggingFaceTokenizer> load(const std::map<std::string, std::string>& files) {
    for (const auto& [source, target] : files) {
      std::filesystem::copy_file(folder_ / source, directory_ / target);
    }
    return std::make_unique<HuggingFaceTokenizer>(directory_.path());
  }

  std::filesystem::path folder_;
  test::TemporaryDirectory directory_;
};

TEST_F(Gold, QuestionsInWordPiece) {
  const auto tokenizer = load({{"bert-base-uncased-vocab.txt", "vocab.txt"}});
  const Json texts = formats::read_json(folder_ / "gold_question_tokens.json");
  const Json ids = formats::read_json(folder_ / "gold_tokenized_questions.json");
  ASSERT_EQ(texts.size(), ids.size());
  std::size_t different = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::vector<std::int64_t> found = tokenizer->encode(texts[i]["original"].get<std::string>());
    std::vector<std::string> tokens;
    tokens.reserve(found.size());
    for (const std::int64_t id : found) {
      tokens.push_back(tokenizer->token(id));
    }
    const bool equal = found == ids[i].get<std::vector<std::int64_t>>() &&
                       tokens == texts[i]["wordpiece"].get<std::vector<std::string>>();
    different += equal ? 0 : 1;
    EXPECT_TRUE(equal || different > 3) << texts[i]["original"];
  }
  EXPECT_EQ(different, 0U) << "of " << texts.size();
}

TEST_F(Gold, WordsOfGpt2) {
  const auto tokenizer = load({{"roberta-base-vocab.json", "vocab.json"}, {"gpt2-roberta-merges.txt", "merges.txt"}});
  const Json gold = formats::read_json(folder_ / "gold_encoded_tokens.json");
  const Encoding encoding =
      tokenizer->encode_windows(gold["text"].get<std::string>(), {.special_tokens = false}).front();
  std::vector<std::string> words;
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    words.resize(static_cast<std::size_t>(encoding.words[i]) + 1);
    words.back() += tokenizer->token(encoding.ids[i]);
  }
  EXPECT_EQ(words, gold["encoded_text"].get<std::vector<std::string>>());
}

}  // namespace
}  // namespace weft::text
