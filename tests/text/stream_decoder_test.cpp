// SPDX-License-Identifier: Apache-2.0
// What a stream hands out, joined, is what decode() says; and no half character is handed out on the way.
#include "weft/text/stream_decoder.h"

#include <random>

#include <gtest/gtest.h>

#include "sentencepiece_model.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"
#include "weft/text/pair/pair_tokenizer.h"
#include "weft/text/utf8.h"

namespace weft::text {
namespace {

std::unique_ptr<Tokenizer> small_sentencepiece() {
  const test::TemporaryDirectory directory;
  write_file_atomically(directory / "tokenizer.model", small_model());
  return load_sentencepiece(directory / "tokenizer.model");
}

std::string stream(const Tokenizer& tokenizer, const std::vector<std::int64_t>& ids) {
  StreamDecoder decoder(tokenizer);
  std::string text;
  for (const std::int64_t id : ids) {
    text += decoder.push(id);
  }
  return text + decoder.finish();
}

TEST(StreamDecoder, HoldsBackHalfACharacter) {
  const auto tokenizer = make_byte_tokenizer();
  StreamDecoder decoder(*tokenizer);
  EXPECT_EQ(decoder.push('a'), "a");
  EXPECT_EQ(decoder.push(0xE4), "");
  EXPECT_EQ(decoder.push(0xB8), "");
  EXPECT_EQ(decoder.push(0xAD), "中");
  EXPECT_EQ(decoder.push(0xFF), "\xFF") << "what nothing can complete is not held back";
  EXPECT_EQ(decoder.push(0xC3), "");
  EXPECT_EQ(decoder.push('b'),
            "\xC3"
            "b");
  EXPECT_EQ(decoder.push(0xC3), "");
  EXPECT_EQ(decoder.finish(), "\xC3");
  EXPECT_EQ(decoder.finish(), "");
  EXPECT_EQ(decoder.push('c'), "c");
}

TEST(StreamDecoder, SentencePieceKeepsBlanksAndBytes) {
  const auto tokenizer = small_sentencepiece();
  StreamDecoder decoder(*tokenizer);
  std::string text;
  for (const std::int64_t id : tokenizer->encode("hello world 中.")) {
    const std::string fresh = decoder.push(id);
    EXPECT_TRUE(is_valid_utf8(fresh));
    EXPECT_EQ(fresh.find("\xEF\xBF\xBD"), std::string::npos);
    text += fresh;
  }
  EXPECT_EQ(text + decoder.finish(), "hello world 中.");
}

TEST(StreamDecoder, EqualsDecodeOnRandomIds) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::filesystem::path fixtures = std::filesystem::path(WEFT_TEST_DATA_DIR) / "tokenizers";
  std::vector<std::unique_ptr<Tokenizer>> tokenizers;
  tokenizers.push_back(make_byte_tokenizer());
  tokenizers.push_back(small_sentencepiece());
  for (const char* family : {"roberta", "big_bird"}) {
    tokenizers.push_back(load_tokenizer(fixtures / family));
  }
  const std::filesystem::path pairs = std::filesystem::path(WEFT_TEST_DATA_DIR) / "pairs";
  const auto marian = load_pair_tokenizer(pairs / "marian-codes");
  const auto pegasus = load_pair_tokenizer(pairs / "pegasus");
  std::vector<const Tokenizer*> all = {&marian->side(Side::kTarget), &pegasus->side(Side::kTarget)};
  for (const auto& tokenizer : tokenizers) {
    all.push_back(tokenizer.get());
  }
  for (const Tokenizer* tokenizer : all) {
    for (int round = 0; round < 300; ++round) {
      // Short ones mix everything; in long ones, broken bytes make the decoder hold back again and again.
      std::vector<std::int64_t> ids(random() % (round % 10 == 0 ? 200 : 12));
      for (std::int64_t& id : ids) {
        id = static_cast<std::int64_t>(random() % static_cast<unsigned>(tokenizer->vocabulary_size()));
      }
      ASSERT_EQ(stream(*tokenizer, ids), tokenizer->decode(ids)) << "round " << round << ", " << tokenizer->kind();
    }
  }
}

TEST(StreamDecoder, BadIdsLeaveItUsable) {
  const auto tokenizer = make_byte_tokenizer();
  StreamDecoder decoder(*tokenizer);
  decoder.push(0xC3);
  test::expect_error(ErrorKind::kArgument, {"999"}, [&] { decoder.push(999); });
  EXPECT_EQ(decoder.push(0xA9), "é");
}

TEST(StreamDecoder, EndlessBrokenBytesTakeLinearTime) {
  const auto tokenizer = small_sentencepiece();
  StreamDecoder decoder(*tokenizer);
  std::size_t size = 0;
  constexpr std::int64_t kByteFF = 3 + 13 + 255;
  for (int i = 0; i < 20000; ++i) {
    size += decoder.push(kByteFF).size();
  }
  EXPECT_EQ(size + decoder.finish().size(), 20000U * 3U);
}

}  // namespace
}  // namespace weft::text
