// SPDX-License-Identifier: Apache-2.0
// A corpus as ids: bytes as they are, and a tokeniser's ids from pieces of files.
#include "weft/data/token_source.h"

#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "readers/reading.h"

namespace weft::data {
namespace {

std::vector<std::int64_t> all_ids(const TokenSource& source) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(source.size()));
  source.read(0, ids);
  return ids;
}

std::shared_ptr<const TextCorpus> corpus_of(const std::filesystem::path& path) {
  return std::make_shared<TextCorpus>(std::vector<std::string>{path.string()});
}

TEST(TokenSource, BytesAreTheirOwnIds) {
  const test::TemporaryDirectory folder;
  std::string text(256, '\0');
  std::iota(text.begin(), text.end(), '\0');
  test::write_text(folder / "bytes", text);
  const auto source = tokenize(corpus_of(folder / "bytes"), *text::make_byte_tokenizer());
  std::vector<std::int64_t> expected(256);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all_ids(*source), expected);
  test::expect_error(ErrorKind::kArgument, {"256"}, [&] { source->read(250, expected); });
}

TEST(TokenSource, EncodesLargeFilesInPiecesThatEndWithALine) {
  const test::TemporaryDirectory folder;
  // Lines of an even number of bytes: pieces that end with a line leave the pairs as they are, others would not.
  std::string text;
  for (int line = 0; text.size() < (std::size_t{5} << 19); ++line) {
    text += std::to_string(100000 + line) + (line % 2 == 0 ? ",\n" : "..;\n");
  }
  test::write_text(folder / "lines.txt", text);
  const test::PairTokenizer pairs;
  const auto source = tokenize(corpus_of(folder / "lines.txt"), pairs);
  EXPECT_EQ(all_ids(*source), pairs.encode(text));
  std::vector<std::int64_t> middle(1000);
  source->read(600000, middle);
  EXPECT_EQ(pairs.decode(middle), text.substr(1200000, 2000));
  test::expect_error(ErrorKind::kArgument, {"tokens"}, [&] { source->read(source->size() - 1, middle); });
}

TEST(TokenSource, AFileWithoutLinesIsCutBetweenCharacters) {
  const test::TemporaryDirectory folder;
  std::string text = "x";
  while (text.size() < (std::size_t{3} << 20)) {
    text += "\xE2\x82\xAC";
  }
  test::write_text(folder / "euros.txt", text);
  class Checking final : public text::Tokenizer {
   public:
    std::vector<std::int64_t> encode(std::string_view piece) const override {
      EXPECT_NE(static_cast<unsigned char>(piece.front()) & 0xC0U, 0x80U) << "a piece begins within a character";
      return std::vector<std::int64_t>(piece.size(), 7);
    }
    std::string decode(const std::vector<std::int64_t>&) const override { return {}; }
    std::int64_t vocabulary_size() const override { return 8; }
    std::string kind() const override { return "sentencepiece"; }
    void save(const std::filesystem::path&) const override {}
  };
  EXPECT_EQ(tokenize(corpus_of(folder / "euros.txt"), Checking())->size(), static_cast<std::int64_t>(text.size()));
}

TEST(TokenSource, GzipHasTheIdsAndTheFingerprintOfItsText) {
  const test::TemporaryDirectory folder;
  const std::string text = test::random_text(3000000, 9);
  test::write_text(folder / "plain", text);
  test::append_gzip(folder / "zipped", text);
  const auto bytes = text::make_byte_tokenizer();
  const auto plain = tokenize(corpus_of(folder / "plain"), *bytes);
  const auto zipped = tokenize(corpus_of(folder / "zipped"), *bytes);
  EXPECT_EQ(fingerprint(*plain), fingerprint(*zipped));
  EXPECT_EQ(all_ids(*plain), all_ids(*zipped));
  EXPECT_EQ(all_ids(*tokenize(corpus_of(folder / "plain"), test::PairTokenizer())),
            all_ids(*tokenize(corpus_of(folder / "zipped"), test::PairTokenizer())));
}

TEST(TokenSource, FingerprintTellsTextsApart) {
  const test::TemporaryDirectory folder;
  const auto bytes = text::make_byte_tokenizer();
  const auto print = [&](const std::string& name, const std::string& text) {
    test::write_text(folder / name, text);
    return fingerprint(*tokenize(corpus_of(folder / name), *bytes));
  };
  const std::string text = test::random_text(20000, 1);
  EXPECT_EQ(print("a", text), print("b", text));
  EXPECT_NE(print("a", text), print("c", text.substr(1)));
  EXPECT_NE(print("a", text), print("d", test::random_text(20000, 2)));
  EXPECT_NE(print("e", "x"), print("f", "y"));
}

// Every id counts, also between the places that the fingerprint looks at; in which files they lie does not.
TEST(TokenSource, ContentDigestSeesOneByte) {
  const test::TemporaryDirectory folder;
  const auto bytes = text::make_byte_tokenizer();
  std::string text = test::random_text(200000, 1);
  const auto digest = [&](const std::string& name) {
    return content_digest(*tokenize(corpus_of(folder / name), *bytes));
  };
  test::write_text(folder / "whole", text);
  test::write_text(folder / "parts/a", text.substr(0, 70000));
  test::write_text(folder / "parts/b", text.substr(70000));
  EXPECT_EQ(digest("whole"), digest("parts"));
  for (const std::size_t place : {0UL, 65535UL, 65536UL, 123457UL, 199999UL}) {
    std::string other = text;
    other[place] ^= 1;
    test::write_text(folder / "other", other);
    EXPECT_NE(digest("whole"), digest("other")) << place;
  }
  test::write_text(folder / "shorter", text.substr(0, 199999));
  EXPECT_NE(digest("whole"), digest("shorter"));
}

}  // namespace
}  // namespace weft::data
