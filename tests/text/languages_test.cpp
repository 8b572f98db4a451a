// SPDX-License-Identifier: Apache-2.0
// Tokenisers that name the language of a text, and T5's, against the ids of transformers
// (tests/fixtures/make/language_pairs.py); frames of other languages, and vocabularies without codes.
#include "weft/text/pair/languages.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"
#include "weft/formats/config_json.h"

namespace weft::text {
namespace {

const std::filesystem::path kLanguages = std::filesystem::path(WEFT_TEST_DATA_DIR) / "languages";

TEST(Languages, IdsAreThoseOfTransformers) {
  for (const char* name : {"mbart", "mbart50", "m2m_100", "nllb", "nllb_pieces", "t5"}) {
    const auto tokenizer = load_pair_tokenizer(kLanguages / name);
    const formats::Json cases = formats::read_json(named_by_user(kLanguages / name / "cases.json"));
    ASSERT_FALSE(cases.empty());
    for (const formats::Json& expected : cases) {
      EXPECT_EQ(tokenizer->encode(expected["text"].get<std::string>(), Side::kSource),
                expected["source"].get<std::vector<std::int64_t>>())
          << name << ' ' << expected["text"];
    }
  }
}

TEST(Languages, FramesHaveTheCodeWhereTheClassHasIt) {
  const auto frame_in = [](const char* name, const char* code) {
    const auto tokenizer = load_pair_tokenizer(kLanguages / name);
    const FramedLanguages* const known = tokenizer->framed_languages();
    std::vector<std::string> tokens;
    for (const std::int64_t id : known->frame_of(known->ids.at(code)).around({})) {
      tokens.push_back(tokenizer->token(id, Side::kSource));
    }
    return tokens;
  };
  EXPECT_EQ(frame_in("mbart", "fr_XX"), (std::vector<std::string>{"</s>", "fr_XX"}));
  EXPECT_EQ(frame_in("mbart50", "gl_ES"), (std::vector<std::string>{"gl_ES", "</s>"}));
  EXPECT_EQ(frame_in("nllb", "fra_Latn"), (std::vector<std::string>{"fra_Latn", "</s>"}));
  EXPECT_EQ(frame_in("nllb_pieces", "zul_Latn"), (std::vector<std::string>{"zul_Latn", "</s>"}));
  EXPECT_EQ(frame_in("m2m_100", "zu"), (std::vector<std::string>{"__zu__", "</s>"}));
  EXPECT_EQ(load_pair_tokenizer(kLanguages / "t5")->framed_languages(), nullptr);
}

TEST(Languages, ACodeThatTheVocabularyLacksIsRefused) {
  const test::TemporaryDirectory folder;
  std::filesystem::copy(kLanguages / "m2m_100", folder / "m2m");
  write_file_atomically(folder / "m2m/tokenizer_config.json",
                        R"({"tokenizer_class": "M2M100Tokenizer", "src_lang": "xx"})");
  test::expect_error(ErrorKind::kFormat, {"src_lang", "'xx'"}, [&] { load_pair_tokenizer(folder / "m2m"); });
  std::filesystem::copy(kLanguages / "t5", folder / "nllb");
  write_file_atomically(folder / "nllb/tokenizer_config.json",
                        R"({"tokenizer_class": "T5Tokenizer", "extra_ids": -1})");
  test::expect_error(ErrorKind::kFormat, {"extra_ids", "0 to"}, [&] { load_pair_tokenizer(folder / "nllb"); });
}

}  // namespace
}  // namespace weft::text
