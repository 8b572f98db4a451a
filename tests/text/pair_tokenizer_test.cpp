// SPDX-License-Identifier: Apache-2.0
// Tokenisers of encoder-decoders: both sides against the ids and texts of transformers and the SentencePiece library
// (tests/fixtures/make/pair_tokenizers.py), newlines, language codes, and directories that do not fit together.
#include "weft/text/pair/pair_tokenizer.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"
#include "weft/formats/config_json.h"
#include "weft/text/utf8.h"

namespace weft::text {
namespace {

using formats::Json;
using test::expect_error;
using Ids = std::vector<std::int64_t>;

const std::filesystem::path kPairs = std::filesystem::path(WEFT_TEST_DATA_DIR) / "pairs";

class PairFixture : public ::testing::TestWithParam<const char*> {};

TEST_P(PairFixture, EqualsTheReference) {
  const auto tokenizer = load_pair_tokenizer(kPairs / GetParam());
  const Json cases = formats::read_json(kPairs / GetParam() / "cases.json");
  ASSERT_EQ(cases.size(), 40U);
  for (const Json& expected : cases) {
    SCOPED_TRACE(expected.dump());
    const std::string text = expected["text"];
    EXPECT_EQ(tokenizer->encode(text, Side::kSource), expected["source"].get<Ids>());
    EXPECT_EQ(tokenizer->encode(text, Side::kTarget), expected["target"].get<Ids>());
    const Ids ids = expected["ids"];
    EXPECT_EQ(tokenizer->display(ids, Side::kTarget), expected["decoded"].get<std::string>());
    const std::string all = tokenizer->side(Side::kTarget).decode(ids);
    EXPECT_EQ(std::string(strip_right(strip_left(all))), expected["all"].get<std::string>());
  }
}

TEST_P(PairFixture, TakesAnyBytes) {
  const auto tokenizer = load_pair_tokenizer(kPairs / GetParam());
  const std::int64_t end = tokenizer->encode("", Side::kSource).back();
  for (const Side side : {Side::kSource, Side::kTarget}) {
    EXPECT_EQ(tokenizer->encode("", side), Ids{end});
    for (int byte = 0; byte < 256; ++byte) {
      EXPECT_EQ(tokenizer->encode(std::string(2, static_cast<char>(byte)), side).back(), end);
    }
    EXPECT_EQ(tokenizer->encode(std::string(1 << 16, '>'), side).back(), end);
    expect_error(ErrorKind::kArgument, {"token 1 is -1"}, [&] { tokenizer->decode({0, -1}, side); });
    expect_error(ErrorKind::kArgument, {"token 0 is 99999999"}, [&] { tokenizer->decode({99999999}, side); });
  }
}

TEST_P(PairFixture, SavesWhatItWasLoadedFrom) {
  const test::TemporaryDirectory directory;
  const auto tokenizer = load_pair_tokenizer(kPairs / GetParam());
  tokenizer->save(directory.path());
  const auto again = load_pair_tokenizer(directory.path());
  const std::string text = "A man said 'well' <unk_3> and wove.";
  for (const Side side : {Side::kSource, Side::kTarget}) {
    EXPECT_EQ(again->encode(text, side), tokenizer->encode(text, side));
  }
  EXPECT_EQ(again->shared(), tokenizer->shared());
}

INSTANTIATE_TEST_SUITE_P(PairTokenizer, PairFixture,
                         ::testing::Values("marian-codes", "marian-separate", "pegasus", "bigbird_pegasus"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(PairTokenizer, LanguageCodesAndSides) {
  const auto marian = load_pair_tokenizer(kPairs / "marian-codes");
  EXPECT_EQ(marian->language_codes(), (std::vector<std::string>{">>de<<", ">>fr<<"}));
  EXPECT_TRUE(marian->shared());
  const Ids ids = marian->encode(">>de<< The loom", Side::kSource);
  EXPECT_EQ(marian->token(ids.front(), Side::kSource), ">>de<<");
  EXPECT_EQ(marian->find(">>de<<", Side::kSource), ids.front());
  EXPECT_FALSE(marian->find(">>xx<<", Side::kSource).has_value());
  EXPECT_TRUE(marian->find("<unk>", Side::kSource).has_value());
  const auto separate = load_pair_tokenizer(kPairs / "marian-separate");
  EXPECT_TRUE(separate->language_codes().empty());
  EXPECT_FALSE(separate->shared());
  EXPECT_NE(separate->encode("man", Side::kSource), separate->encode("man", Side::kTarget));
}

TEST(PairTokenizer, PlainTextHasNoSpecialTokens) {
  for (const char* family : {"marian-codes", "marian-separate", "pegasus", "bigbird_pegasus"}) {
    const auto tokenizer = load_pair_tokenizer(kPairs / family);
    EXPECT_EQ(tokenizer->frame().behind, tokenizer->encode("", Side::kSource)) << family;
    for (const Side side : {Side::kSource, Side::kTarget}) {
      const Ids ids = tokenizer->encode_plain("A man </s> wove<pad>.", side);
      for (const char* special : {"</s>", "<pad>"}) {
        EXPECT_EQ(std::count(ids.begin(), ids.end(), tokenizer->find(special, side).value()), 0) << family << special;
      }
      EXPECT_EQ(tokenizer->frame().around(tokenizer->encode_plain("A man wove.", side)),
                tokenizer->encode("A man wove.", side));
    }
  }
  const auto marian = load_pair_tokenizer(kPairs / "marian-codes");
  const std::optional<std::int64_t> code = marian->find(">>de<<", Side::kSource);
  EXPECT_EQ(marian->encode_plain(">>de<< </s> a man", Side::kSource).front(), code);
  EXPECT_NE(marian->encode_plain(">>de<< a man", Side::kTarget).front(), code);
}

TEST(PairTokenizer, NewlinesOfPegasus) {
  for (const char* family : {"pegasus", "bigbird_pegasus"}) {
    const auto tokenizer = load_pair_tokenizer(kPairs / family);
    const auto newline = tokenizer->find("<n>", Side::kTarget);
    ASSERT_TRUE(newline.has_value());
    EXPECT_EQ(tokenizer->encode("the loom\nthe thread", Side::kSource),
              tokenizer->encode("the loom the thread", Side::kSource));
    Ids ids = tokenizer->encode("the loom", Side::kTarget);
    ids.back() = *newline;
    for (const std::int64_t id : tokenizer->encode("the thread", Side::kTarget)) {
      ids.push_back(id);
    }
    EXPECT_EQ(tokenizer->decode(ids), "the loom\nthe thread");
    ids.insert(ids.begin(), *newline);
    ids.push_back(*newline);
    EXPECT_EQ(tokenizer->decode(ids), "the loom\nthe thread") << "none at the ends";
  }
}

// A directory with some files of a fixture, and others in their place.
class PairDirectory : public ::testing::Test {
 protected:
  void copy(const char* fixture) {
    for (const auto& entry : std::filesystem::directory_iterator(kPairs / fixture)) {
      std::filesystem::copy_file(entry.path(), directory_ / entry.path().filename().string());
    }
  }
  void put(const char* name, std::string_view content) { write_file_atomically(directory_ / name, content); }
  void refuse(ErrorKind kind, std::initializer_list<std::string_view> words) {
    expect_error(kind, words, [&] { load_pair_tokenizer(directory_.path()); });
  }
  test::TemporaryDirectory directory_;
};

TEST_F(PairDirectory, BartAndLedAreRobertas) {
  const std::filesystem::path roberta = std::filesystem::path(WEFT_TEST_DATA_DIR) / "tokenizers" / "roberta";
  for (const char* name : {"vocab.json", "merges.txt"}) {
    std::filesystem::copy_file(roberta / name, directory_ / name);
  }
  for (const char* family : {"BartTokenizer", "LEDTokenizerFast"}) {
    put("tokenizer_config.json", concat(R"({"tokenizer_class": ")", family, R"(", "model_max_length": 77})"));
    const auto tokenizer = load_pair_tokenizer(directory_.path());
    const Ids ids = tokenizer->encode("the loom\n", Side::kSource);
    EXPECT_EQ(tokenizer->token(ids.front(), Side::kSource), "<s>");
    EXPECT_EQ(tokenizer->token(ids.back(), Side::kSource), "</s>");
    EXPECT_EQ(tokenizer->decode(ids), "the loom");
    EXPECT_EQ(tokenizer->maximum_length(), 77);
  }
}

TEST_F(PairDirectory, FilesOfTwoModels) {
  copy("marian-codes");
  std::string table = R"({"</s>": 0, "<unk>": 1)";
  for (int i = 2; i < 90; ++i) {
    table += concat(", \"other", i, "\": ", i);
  }
  put("vocab.json", table + "}");
  refuse(ErrorKind::kFormat, {"vocab.json has", "pieces of source.spm", "two models"});
  put("vocab.json", R"({"</s>": 0})");
  refuse(ErrorKind::kFormat, {"vocab.json"});
  put("vocab.json", "[1]");
  refuse(ErrorKind::kFormat, {"vocab.json"});
}

TEST_F(PairDirectory, WhatIsMissingOrOfTheWrongType) {
  copy("marian-separate");
  std::filesystem::remove(directory_ / "target_vocab.json");
  refuse(ErrorKind::kIo, {"target_vocab.json"});
  put("tokenizer_config.json", R"({"separate_vocabs": "yes"})");
  refuse(ErrorKind::kFormat, {"separate_vocabs", "string"});
  put("tokenizer_config.json", R"({"separate_vocabs": false, "unk_token": "<?>"})");
  refuse(ErrorKind::kFormat, {"vocab.json", "unknown token '<?>'"});
  std::filesystem::remove(directory_ / "target.spm");
  refuse(ErrorKind::kIo, {"target.spm"});
}

TEST_F(PairDirectory, NamesOfLanguages) {
  copy("marian-codes");
  put("tokenizer_config.json", R"({"source_lang": "en", "target_lang": null})");
  const auto tokenizer = load_pair_tokenizer(directory_.path());
  EXPECT_EQ(tokenizer->language(Side::kSource), "en");
  EXPECT_EQ(tokenizer->language(Side::kTarget), "");
  put("tokenizer_config.json", R"({"source_lang": 3})");
  refuse(ErrorKind::kFormat, {"source_lang", "number"});
}

TEST_F(PairDirectory, IdsThatCannotBe) {
  copy("marian-codes");
  const auto change = [&](const auto& edit) {
    Json table = formats::read_json(kPairs / "marian-codes" / "vocab.json");
    edit(table);
    put("vocab.json", table.dump());
  };
  change([](Json& table) { table[">>de<<"] = 2000000000; });
  refuse(ErrorKind::kFormat, {"vocab.json", "'>>de<<'", "2000000000"});
  change([](Json& table) { table[">>de<<"] = table[">>fr<<"]; });
  refuse(ErrorKind::kFormat, {"vocab.json", "'>>de<<'", "same id"});
  change([](Json& table) { table.erase("<unk>"); });
  refuse(ErrorKind::kFormat, {"vocab.json", "unknown token '<unk>'"});
}

TEST_F(PairDirectory, SettingsOfPegasus) {
  copy("pegasus");
  put("tokenizer_config.json", R"({"tokenizer_class": "PegasusTokenizer", "offset": -3})");
  refuse(ErrorKind::kFormat, {"offset", "0 to 10000"});
  put("tokenizer_config.json", R"({"tokenizer_class": "PegasusTokenizer", "mask_token_sent": 3})");
  refuse(ErrorKind::kFormat, {"mask_token_sent", "number"});
  // The type of the model tells where no class is named, and a saved table counts.
  put("tokenizer_config.json",
      R"({"added_tokens_decoder": {"2": {"content": "<mask_2>", "special": true},
                                   "3": {"content": "<mask_1>", "special": true}}})");
  put("config.json", R"({"model_type": "pegasus"})");
  const auto swapped = load_pair_tokenizer(directory_.path());
  EXPECT_EQ(swapped->find("<mask_2>", Side::kSource), 2);
  EXPECT_EQ(swapped->find("<mask_1>", Side::kSource), 3);
  EXPECT_EQ(load_pair_tokenizer(kPairs / "pegasus")->find("<mask_1>", Side::kSource), 2);
}

TEST(PairTokenizer, AnyTokenizerWithAFrame) {
  const auto bytes = make_pair_tokenizer(make_byte_tokenizer(), {.before = {1}, .behind = {2}});
  EXPECT_EQ(bytes->encode("ab", Side::kTarget), (Ids{1, 'a', 'b', 2}));
  EXPECT_EQ(bytes->decode({1, ' ', 'a', 'b', 2}), "ab");
  EXPECT_EQ(bytes->find("a", Side::kSource), 'a');
  EXPECT_TRUE(bytes->shared());
}

}  // namespace
}  // namespace weft::text
