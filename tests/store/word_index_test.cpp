// SPDX-License-Identifier: Apache-2.0
// Scores of words are those of FTS5's own bm25(), for random texts and questions.
#include "weft/store/words/word_index.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/random.h"
#include "weft/store/store_writer.h"

namespace weft::store {
namespace {

// Words that few and many texts have, with capitals, accents and endings.
std::string drawn_text(std::uint64_t seed, int words) {
  const std::vector<std::string> words_there = {"loom",   "Looms",  "weave", "weaving",      "\xC3\xA9t\xC3\xA9",
                                                "ete",    "the",    "warp",  "weft",         "42",
                                                "glass",  "window", "a",     "of",           "rates",
                                                "rising", "rise",   "silk",  "\xE7\xB5\xB9", "x-y",
                                                "it's"};
  std::string text;
  for (int i = 0; i < words; ++i) {
    const std::uint64_t wide =
        random_below(random_bits(seed, static_cast<std::uint64_t>(i)), words_there.size() * words_there.size());
    text += words_there[wide / words_there.size() * (wide % words_there.size()) / words_there.size()] + " ";
  }
  return text;
}

std::map<std::int64_t, double> scores_of_fts5(Store& store, const std::string& question, double title_weight) {
  std::string match;
  for (const std::string& word : WordTokenizer(store).words(question)) {
    match += (match.empty() ? "\"" : " OR \"") + word + "\"";
  }
  Statement rows = store.database().prepare("SELECT rowid, -bm25(words, ?2, 1.0) FROM words WHERE words MATCH ?1");
  rows.bind(1, match).bind(2, title_weight);
  std::map<std::int64_t, double> scores;
  while (rows.step()) {
    scores[rows.integer(0)] = rows.real(1);
  }
  return scores;
}

class WordScores : public ::testing::TestWithParam<std::string> {};

TEST_P(WordScores, AreThoseOfFts5) {
  const test::TemporaryDirectory directory;
  Store store(directory.path() / "s", Access::kCreate, {.stem = GetParam()});
  StoreWriter writer(store);
  for (std::uint64_t i = 0; i < 200; ++i) {
    writer.put({.id = std::to_string(i), .title = drawn_text(i, i % 3), .text = drawn_text(1000 + i, 1 + i % 40)}, 0);
    if (i % 10 == 3) {
      writer.remove(std::to_string(i - 2));
    }
  }
  writer.commit();
  for (const double weight : {1.0, 2.5}) {
    WordIndex index(store, {.title_weight = weight, .most_bytes = 500});
    for (std::uint64_t i = 0; i < 20; ++i) {
      const std::string question = drawn_text(5000 + i, 1 + i % 5);
      const std::map<std::int64_t, double> expected = scores_of_fts5(store, question, weight);
      const std::vector<Hit> hits = index.search(question, 1000);
      ASSERT_EQ(hits.size(), expected.size()) << question;
      for (const Hit& hit : hits) {
        EXPECT_NEAR(hit.score, expected.at(hit.passage), 1e-9) << question;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Stems, WordScores, ::testing::Values("none", "english"),
                         [](const auto& info) { return info.param; });

TEST(WordIndex, OfNothingFindsNothing) {
  const test::TemporaryDirectory directory;
  Store store(directory.path() / "s", Access::kCreate);
  WordIndex index(store);
  EXPECT_TRUE(index.search("loom", 10).empty());
  EXPECT_TRUE(index.search("?!", 10).empty());
  std::string long_question;
  for (int i = 0; i < 1025; ++i) {
    long_question += "a ";
  }
  test::expect_error(ErrorKind::kArgument, {"at most 1024 words, found 1025"}, [&] { index.search(long_question, 1); });
}

}  // namespace
}  // namespace weft::store
