// SPDX-License-Identifier: Apache-2.0
// SentencePiece models of every kind against the ids and texts that the library of that name gives for them
// (tests/fixtures/make/sentencepiece_cases.py), and models that would make little text a lot of work.
#include <string>

#include <gtest/gtest.h>

#include "sentencepiece_model.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"
#include "weft/formats/config_json.h"
#include "weft/text/hugging_face.h"
#include "weft/text/sentencepiece/reformer_pieces.h"
#include "weft/text/tokenizer.h"

namespace weft::text {
namespace {

const std::filesystem::path kModels = std::filesystem::path(WEFT_TEST_DATA_DIR) / "sentencepiece";

std::string from_hex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

class SentencePieceFixture : public ::testing::TestWithParam<const char*> {};

TEST_P(SentencePieceFixture, EqualsTheLibrary) {
  using Ids = std::vector<std::int64_t>;
  const auto tokenizer = load_sentencepiece(kModels / (std::string(GetParam()) + ".model"));
  const formats::Json cases = formats::read_json(kModels / (std::string(GetParam()) + ".json"));
  ASSERT_EQ(cases.size(), 60U);
  for (const formats::Json& expected : cases) {
    SCOPED_TRACE(expected.dump());
    EXPECT_EQ(tokenizer->encode(from_hex(expected["text"])), expected["ids"].get<Ids>());
    EXPECT_EQ(tokenizer->decode(expected["drawn"].get<Ids>()), from_hex(expected["decoded"]));
  }
}

INSTANTIATE_TEST_SUITE_P(SentencePiece, SentencePieceFixture,
                         ::testing::Values("unigram", "unigram_blanks", "byte_pairs", "byte_pairs_bytes", "words",
                                           "characters"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ReformerPieces, AreThoseOfTheLibrary) {
  const test::TemporaryDirectory directory;
  std::filesystem::copy_file(kModels / "byte_pairs.model", directory / "spiece.model");
  // Without a config that says so, spiece.model is BigBird's, and that is not of byte pairs.
  EXPECT_FALSE(has_reformer_pieces(directory.path()));
  test::expect_error(ErrorKind::kUnsupported, {"spiece.model", "unigram", "BigBird"},
                     [&] { load_tokenizer(directory.path()); });
  write_file_atomically(directory / "config.json", R"({"model_type": "reformer", "vocab_size": 320})");
  EXPECT_TRUE(has_reformer_pieces(directory.path()));
  const auto tokenizer = load_tokenizer(directory.path());
  EXPECT_EQ(tokenizer->kind(), "sentencepiece");
  for (const formats::Json& expected : formats::read_json(kModels / "byte_pairs.json")) {
    EXPECT_EQ(tokenizer->encode(from_hex(expected["text"])), expected["ids"].get<std::vector<std::int64_t>>());
  }
  // A head for a task needs tokens with roles.
  test::expect_error(ErrorKind::kUnsupported, {"spiece.model", "unigram"},
                     [&] { HuggingFaceTokenizer(directory.path()); });
  write_file_atomically(directory / "tokenizer.json", "{}");
  EXPECT_FALSE(has_reformer_pieces(directory.path()));
}

class SentencePieceLimits : public ::testing::Test {
 protected:
  std::unique_ptr<Tokenizer> load(const std::string& model) {
    write_file_atomically(directory_ / "t.model", model);
    return load_sentencepiece(directory_ / "t.model");
  }
  test::TemporaryDirectory directory_;
};

TEST_F(SentencePieceLimits, PiecesThatAreEachOthersBeginnings) {
  const auto tokenizer = load(piece("<unk>", 0, PieceType::kUnknown) + piece("a", -1) +
                              piece(std::string(16000, 'a'), -1) + settings(false));
  constexpr std::size_t kLength = WEFT_SANITIZED ? 500 : 2000;
  EXPECT_EQ(tokenizer->encode(std::string(kLength, 'a')).size(), kLength + 1);
  test::expect_error(ErrorKind::kArgument, {"t.model", "4096 steps"},
                     [&] { tokenizer->encode(std::string(20000, 'a')); });
}

TEST_F(SentencePieceLimits, CharacterMapsThatExpand) {
  // Unit 0 leads to the children of node 1, 'a' among them, whose value is the first text.
  std::string trie(1024, '\0');
  const auto set = [&](std::size_t index, std::uint32_t value) { trie.replace(index * 4, 4, fixed32(value)); };
  set(0, 128U << 10);
  set(128 ^ 'a', (130U << 10) | (1U << 8) | 'a');
  set(128 ^ 'a' ^ 130U, 1U << 31);
  const std::string head = piece("<unk>", 0, PieceType::kUnknown) + piece("b", -1);
  const auto map = [&](std::size_t size) {
    return fixed32(1024) + trie + std::string(size, 'b') + std::string(1, '\0');
  };
  const auto twice = load(head + settings(false, map(2)));
  EXPECT_EQ(twice->encode("aa"), (std::vector<std::int64_t>{0, 1, 1, 1, 1}));
  const auto many = load(head + settings(false, map(1000)));
  EXPECT_EQ(many->encode("aa").size(), 2001U);
  test::expect_error(ErrorKind::kArgument, {"t.model", "character map", "32 times"},
                     [&] { many->encode(std::string(100000, 'a')); });
  test::expect_error(ErrorKind::kFormat, {"t.model", "character map has a text of 2000 bytes"},
                     [&] { load(head + settings(false, map(2000))); });
}

}  // namespace
}  // namespace weft::text
