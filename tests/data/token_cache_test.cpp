// SPDX-License-Identifier: Apache-2.0
// Tokens are made once; another text, file boundary or tokeniser finds nothing; what is damaged is made again.
#include "weft/data/token_cache.h"

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/text_files.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"
#include "weft/data/token_source.h"
#include "weft/text/hugging_face.h"

namespace weft::data {
namespace {

namespace fs = std::filesystem;

// Pairs of bytes, with a file to tell them by; counts its calls.
class FiledPairs final : public text::Tokenizer {
 public:
  explicit FiledPairs(std::string version = "1") : version_(std::move(version)) {}
  std::vector<std::int64_t> encode(std::string_view text) const override {
    ++calls;
    return pairs_.encode(text);
  }
  std::string decode(const std::vector<std::int64_t>& ids) const override { return pairs_.decode(ids); }
  std::int64_t vocabulary_size() const override { return vocabulary; }
  std::string kind() const override { return pairs_.kind(); }
  void save(const fs::path& directory) const override { test::write_text(directory / "version", version_); }

  mutable int calls = 0;
  std::int64_t vocabulary = 65536 + 256;

 private:
  test::PairTokenizer pairs_;
  std::string version_;
};

std::shared_ptr<const TextCorpus> corpus_from(const std::vector<std::string>& paths) {
  return std::make_shared<TextCorpus>(paths);
}

std::vector<std::int64_t> ids_of(const TokenSource& source) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(source.size()));
  source.read(0, ids);
  return ids;
}

std::vector<fs::path> entries_of(const fs::path& directory) {
  std::vector<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    entries.push_back(entry.path());
  }
  return entries;
}

class TokenCacheTest : public ::testing::Test {
 protected:
  TokenCacheTest() { test::write_text(folder / "a.txt", test::random_text(5000, 1)); }

  std::string text_file() const { return (folder / "a.txt").string(); }
  // What tokenising the file gives, and whether the tokeniser was asked.
  std::pair<std::vector<std::int64_t>, bool> tokens(const FiledPairs& tokenizer) const {
    const int before = tokenizer.calls;
    const auto source = tokenize(corpus_from({text_file()}), tokenizer, cache);
    return {ids_of(*source), tokenizer.calls > before};
  }

  test::TemporaryDirectory folder;
  TokenCache cache{folder / "cache", 1U << 20};
};

TEST_F(TokenCacheTest, ATextIsTokenisedOnce) {
  const FiledPairs first;
  const auto [made, asked] = tokens(first);
  EXPECT_TRUE(asked);
  const FiledPairs second;
  const auto [kept, asked_again] = tokens(second);
  EXPECT_FALSE(asked_again);
  EXPECT_EQ(kept, made);
  EXPECT_EQ(kept, second.encode(read_file(text_file())));
}

TEST_F(TokenCacheTest, AnotherTextTokeniserOrBoundaryOfFilesFindsNothing) {
  tokens(FiledPairs());
  EXPECT_TRUE(tokens(FiledPairs("2")).second);
  const std::string text = read_file(text_file());
  test::write_text(folder / "b/1.txt", text.substr(0, 2001));
  test::write_text(folder / "b/2.txt", text.substr(2001));
  const FiledPairs tokenizer;
  EXPECT_NE(ids_of(*tokenize(corpus_from({(folder / "b").string()}), tokenizer, cache)), tokenizer.encode(text));
  test::write_text(folder / "a.txt", "x" + text.substr(1));
  EXPECT_EQ(tokens(FiledPairs()).first, tokenizer.encode("x" + text.substr(1)));
}

TEST_F(TokenCacheTest, WhatIsDamagedIsMadeAgainWithALine) {
  const auto made = tokens(FiledPairs()).first;
  const fs::path entry = entries_of(folder / "cache").front();
  const std::string whole = read_file(entry);
  std::string flipped = whole;
  flipped[whole.size() / 2] = static_cast<char>(flipped[whole.size() / 2] ^ 4);
  std::string other_key = whole;
  other_key[20] = static_cast<char>(other_key[20] ^ 1);
  for (const std::string& damaged :
       {flipped, other_key, whole.substr(0, whole.size() - 4), whole + "more", whole.substr(0, 40), std::string()}) {
    test::write_text(entry, damaged);
    ::testing::internal::CaptureStderr();
    const auto [ids, asked] = tokens(FiledPairs());
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_TRUE(asked);
    EXPECT_EQ(ids, made);
    EXPECT_NE(said.find("cannot be used"), std::string::npos) << said;
    EXPECT_EQ(read_file(entry), whole) << "and is kept again";
  }
}

TEST_F(TokenCacheTest, AnIdBeyondTheVocabularyIsRefused) {
  tokens(FiledPairs());
  FiledPairs small;
  small.vocabulary = 100;
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(tokens(small).second);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("the vocabulary has 100"), std::string::npos);
}

TEST_F(TokenCacheTest, ACacheThatCannotBeWrittenCostsALineOnly) {
  test::write_text(folder / "cache", "a file where the folder should be");
  ::testing::internal::CaptureStderr();
  const FiledPairs tokenizer;
  EXPECT_EQ(tokens(tokenizer).first, tokenizer.encode(read_file(text_file())));
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("cannot keep the tokens"), std::string::npos);
}

TEST_F(TokenCacheTest, TheOldestEntriesMakeRoomAndOtherFilesStay) {
  const TokenCache small(folder / "cache", 25000);  // an entry has about 10,000 bytes
  test::write_text(folder / "cache/notes.txt", "mine");
  for (int i = 0; i < 5; ++i) {
    const std::string file = (folder / ("text" + std::to_string(i))).string();
    test::write_text(file, test::random_text(5000, static_cast<std::uint64_t>(i) + 2));
    for (const fs::path& entry : entries_of(folder / "cache")) {  // clocks of file systems may be coarse
      fs::last_write_time(entry, fs::last_write_time(entry) - std::chrono::seconds(10));
    }
    tokenize(corpus_from({file}), FiledPairs(), small);
  }
  EXPECT_EQ(entries_of(folder / "cache").size(), 3U) << "two entries and the file of somebody else";
  const FiledPairs tokenizer;
  tokenize(corpus_from({(folder / "text4").string()}), tokenizer, small);
  EXPECT_EQ(tokenizer.calls, 0);
  tokenize(corpus_from({(folder / "text0").string()}), tokenizer, small);
  EXPECT_EQ(tokenizer.calls, 1);
}

TEST_F(TokenCacheTest, AnEntryLargerThanTheBoundIsNotKept) {
  const TokenCache small(folder / "cache", 5000);
  ::testing::internal::CaptureStderr();
  tokenize(corpus_from({text_file()}), FiledPairs(), small);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("WEFT_CACHE_GB"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder / "cache"));
}

TEST_F(TokenCacheTest, ATokeniserWithoutFilesHasNoKey) {
  EXPECT_EQ(token_key(*corpus_from({text_file()}), test::PairTokenizer()), std::nullopt);
}

TEST_F(TokenCacheTest, ATokeniserThatDrawsHasNoKey) {
  for (const bool draws : {false, true}) {
    const std::string dropout = draws ? "0.1" : "null";
    test::write_text(folder / "tokenizer/tokenizer.json",
                     R"({"version":"1.0","model":{"type":"BPE","dropout":)" + dropout +
                         R"(,"vocab":{"a":0,"b":1,"ab":2},"merges":[["a","b"]]}})");
    const text::HuggingFaceTokenizer tokenizer(folder / "tokenizer");
    EXPECT_EQ(token_key(*corpus_from({text_file()}), tokenizer).has_value(), !draws);
  }
}

TEST(TokenCache, TheEnvironmentSaysWhereAndHowLarge) {
  ::setenv("WEFT_CACHE", "/large/disk", 1);
  EXPECT_EQ(TokenCache::of_environment()->directory(), "/large/disk/tokens");
  ::setenv("WEFT_CACHE_GB", "0", 1);
  EXPECT_FALSE(TokenCache::of_environment().has_value());
  ::setenv("WEFT_CACHE_GB", "much", 1);
  test::expect_error(ErrorKind::kArgument, {"WEFT_CACHE_GB", "much"}, [] { TokenCache::of_environment(); });
  ::unsetenv("WEFT_CACHE_GB");
  ::unsetenv("WEFT_CACHE");
}

}  // namespace
}  // namespace weft::data
