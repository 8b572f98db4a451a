// SPDX-License-Identifier: Apache-2.0
// Both tokenisers: round trips, any bytes, bad ids, and what a model directory holds.
#include "weft/text/tokenizer.h"

#include <gtest/gtest.h>

#include "sentencepiece_model.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"

namespace weft::text {
namespace {

using test::expect_error;
using test::TemporaryDirectory;

std::string every_byte() {
  std::string text;
  for (int byte = 0; byte < 256; ++byte) {
    text += static_cast<char>(byte);
  }
  return text;
}

TEST(ByteTokenizer, AnyBytesComeBack) {
  const auto tokenizer = make_byte_tokenizer();
  EXPECT_EQ(tokenizer->vocabulary_size(), 256);
  EXPECT_EQ(tokenizer->kind(), "bytes");
  EXPECT_EQ(tokenizer->encode("Az\xFF"), (std::vector<std::int64_t>{65, 122, 255}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(every_byte())), every_byte());
  EXPECT_TRUE(tokenizer->encode("").empty());
}

TEST(ByteTokenizer, MayBeginBehindTwoIdsWithoutText) {
  const auto tokenizer = make_byte_tokenizer(2);
  EXPECT_EQ(tokenizer->vocabulary_size(), 258);
  EXPECT_EQ(tokenizer->kind(), "bytes+2");
  EXPECT_EQ(tokenizer->encode("Az\xFF"), (std::vector<std::int64_t>{67, 124, 257}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(every_byte())), every_byte());
  EXPECT_EQ(tokenizer->decode({0, 67, 1, 1, 124}), "Az");
  expect_error(ErrorKind::kArgument, {"token 0 is 258", "2 to 257"}, [&] { tokenizer->decode({258}); });
  TemporaryDirectory directory;
  const auto kind_with = [&](const std::string& config) {
    write_file_atomically(directory / "config.json", config);
    return load_tokenizer(directory.path())->kind();
  };
  EXPECT_EQ(kind_with(R"({"model_type": "weft", "tokenizer_class": "bytes"})"), "bytes");
  EXPECT_EQ(kind_with(R"({"model_type": "weft", "tokenizer_class": "bytes+2"})"), "bytes+2");
  EXPECT_EQ(kind_with(R"({"model_type": "reformer", "vocab_size": 258})"), "bytes+2");
  expect_error(ErrorKind::kFormat, {"258", "tokenizer.json"},
               [&] { kind_with(R"({"model_type": "reformer", "vocab_size": 320})"); });
}

TEST(ByteTokenizer, IdsOutsideAreErrors) {
  const auto tokenizer = make_byte_tokenizer();
  expect_error(ErrorKind::kArgument, {"token 1 is 256"}, [&] { tokenizer->decode({0, 256}); });
  expect_error(ErrorKind::kArgument, {"token 0 is -1"}, [&] { tokenizer->decode({-1}); });
}

class SentencePiece : public ::testing::Test {
 protected:
  SentencePiece() { write_file_atomically(directory_ / "tokenizer.model", small_model()); }
  TemporaryDirectory directory_;
};

TEST_F(SentencePiece, EncodesAndDecodes) {
  const auto tokenizer = load_sentencepiece(directory_ / "tokenizer.model");
  EXPECT_EQ(tokenizer->kind(), "sentencepiece");
  EXPECT_EQ(tokenizer->vocabulary_size(), 3 + 13 + 256);
  EXPECT_EQ(tokenizer->encode("hello world"), (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(tokenizer->decode({3, 4}), "hello world");
  for (const char* text : {"held world.", "中 hello", "é", "😀😀", "tab\there"}) {
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  }
}

TEST_F(SentencePiece, HostileTextIsTaken) {
  const auto tokenizer = load_sentencepiece(directory_ / "tokenizer.model");
  EXPECT_EQ(tokenizer->encode(std::string(1 << 20, 'l')).size(), (1U << 20) + 1);
  EXPECT_TRUE(tokenizer->encode(std::string(1 << 20, ' ')).empty());
  for (const std::string& text : {every_byte(), std::string(3, '\0'), std::string("\xED\xA0\x80")}) {
    const std::vector<std::int64_t> ids = tokenizer->encode(text);
    for (const std::int64_t id : ids) {
      ASSERT_GE(id, 0);
      ASSERT_LT(id, tokenizer->vocabulary_size());
    }
    tokenizer->decode(ids);
  }
}

TEST_F(SentencePiece, IdsOutsideAreErrors) {
  const auto tokenizer = load_sentencepiece(directory_ / "tokenizer.model");
  expect_error(ErrorKind::kArgument, {"token 0 is 272", "has 272 ids"}, [&] { tokenizer->decode({272}); });
  expect_error(ErrorKind::kArgument, {"token 1 is -1"}, [&] { tokenizer->decode({0, -1}); });
  expect_error(ErrorKind::kArgument, {"4294967296"}, [&] { tokenizer->decode({4294967296}); });
}

TEST_F(SentencePiece, IsSavedAsItWas) {
  const TemporaryDirectory copy;
  load_tokenizer(directory_.path())->save(copy.path());
  EXPECT_EQ(read_file(copy / "tokenizer.model"), small_model());
}

TEST_F(SentencePiece, ModelDirectoriesSayWhichTokenizer) {
  const TemporaryDirectory empty;
  EXPECT_EQ(load_tokenizer(directory_.path())->kind(), "sentencepiece");
  EXPECT_EQ(load_tokenizer(empty.path())->kind(), "bytes");
  std::filesystem::create_symlink("nowhere", empty / "tokenizer.model");
  expect_error(ErrorKind::kIo, {"tokenizer.model"}, [&] { load_tokenizer(empty.path()); });
}

TEST_F(SentencePiece, FilesThatAreNoModel) {
  const auto load = [&](std::string_view content) {
    return [this, content = std::string(content)] {
      write_file_atomically(directory_ / "bad.model", content);
      load_sentencepiece(directory_ / "bad.model");
    };
  };
  expect_error(ErrorKind::kFormat, {"bad.model", "no pieces"}, load(""));
  expect_error(ErrorKind::kFormat, {"bad.model", "no protobuf"}, load("this is text, not a model"));
  expect_error(ErrorKind::kFormat, {"bad.model"}, load(small_model().substr(0, 100)));
  expect_error(ErrorKind::kFormat, {"bad.model"}, load(piece("a", 0) + piece("b", 0)));
  expect_error(ErrorKind::kFormat, {"bad.model"}, load(small_model() + piece("hello", 0) + piece("hello", 0)));
  expect_error(ErrorKind::kIo, {"none.model", "No such file"}, [&] { load_sentencepiece(directory_ / "none.model"); });
  expect_error(ErrorKind::kIo, {"directory"}, [&] { load_sentencepiece(directory_.path()); });
}

}  // namespace
}  // namespace weft::text
