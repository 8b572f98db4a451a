// SPDX-License-Identifier: Apache-2.0
// Subword regularisation: the text stays, words are drawn as the papers say, and nothing else moves.
#include "weft/text/sampling/subword_sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>

#include "support/expect_error.h"
#include "support/rust_threads.h"
#include "support/temporary_directory.h"
#include "weft/text/hugging_face.h"
#include "weft/text/pair/pair_tokenizer.h"
#include "weft/text/tokenizer.h"
#include "weft/text/train_tokenizer.h"

namespace weft::text {
namespace {

using Ids = std::vector<std::int64_t>;
using TrainedSubwords = test::RustThreads;

constexpr std::string_view kText = "the loom weaves the thread, the weaver loves the loom and the thread\n";

std::unique_ptr<Tokenizer> loaded(const std::string& json) {
  const test::TemporaryDirectory folder;
  std::ofstream(folder / "tokenizer.json") << json;
  return load_tokenizer(folder.path());
}

std::unique_ptr<Tokenizer> sampled_tokenizer(bool unigram, bool dna = false) {
  int times = 50;
  const auto next = [&times, dna](std::string& text) {
    text = dna ? "ACGTTGCATTACGGATCCAGATTACA" : std::string(kText);
    return times-- > 0;
  };
  return loaded(train_tokenizer({.unigram = unigram, .dna = dna, .vocabulary_size = 320}, next));
}

// BPE over a and b with the merges "a b" and "ab ab".
std::unique_ptr<Tokenizer> small_merges() {
  return loaded(
      R"({"version":"1.0","added_tokens":[{"id":4,"content":"<s>","special":true,"single_word":false,"lstrip":false,
    "rstrip":false,"normalized":false}],"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":{"type":"Fuse"},
    "model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"abab":3},"merges":["a b","ab ab"]}})");
}

// Pieces a, b, ab of probabilities in the ratio 1 : 1 : e.
std::unique_ptr<Tokenizer> small_pieces() {
  return loaded(R"({"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,
    "decoder":{"type":"Fuse"},"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0.0],["a",-2.0],["b",-2.0],["ab",-3.0]]}})");
}

std::map<Ids, int> counted(const SubwordSampler& sampler, const Ids& ids, int draws) {
  std::map<Ids, int> counts;
  for (int seed = 0; seed < draws; ++seed) {
    ++counts[sampler.draw(ids, static_cast<std::uint64_t>(seed)).ids];
  }
  return counts;
}

TEST_F(TrainedSubwords, TheTextStays) {
  for (const bool unigram : {false, true}) {
    for (const bool dna : {false, true}) {
      const auto tokenizer = sampled_tokenizer(unigram, dna);
      const SubwordSampling sampling =
          unigram ? SubwordSampling{.unigram_alpha = 0.2} : SubwordSampling{.bpe_dropout = 0.3};
      const auto sampler = make_subword_sampler(*tokenizer, sampling);
      const std::string text = dna ? "GATTACAGGCATTACGGATTGCAACGT" : " the weaver  weaves Ärger and 中文, the loom\n";
      const Ids ids = tokenizer->encode(text);
      int differ = 0;
      for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const Ids drawn = sampler->draw(ids, seed).ids;
        EXPECT_EQ(tokenizer->decode(drawn), text);
        EXPECT_EQ(drawn, sampler->draw(ids, seed).ids);
        differ += drawn != ids ? 1 : 0;
      }
      EXPECT_GT(differ, 10) << "unigram " << unigram << " dna " << dna;
    }
  }
}

TEST_F(TrainedSubwords, WithoutDropoutMergesAreTheTokenisersOwn) {
  const auto tokenizer = sampled_tokenizer(false);
  // So rare that no draw below is left out.
  const auto sampler = make_subword_sampler(*tokenizer, {.bpe_dropout = 1e-12});
  for (const std::string text : {"the loom weaves the thread", " looms and weavers 中文!", "t", "\n\n the"}) {
    const Ids ids = tokenizer->encode(text);
    EXPECT_EQ(sampler->draw(ids, 1).ids, ids) << text;
  }
}

TEST(SubwordSampler, MergesAreLeftOutAsOftenAsAsked) {
  constexpr double kDropout = 0.25;
  constexpr int kDraws = 20000;
  const auto sampler = make_subword_sampler(*small_merges(), {.bpe_dropout = kDropout});
  const auto counts = counted(*sampler, {2}, kDraws);
  // The one merge is made or left out, and then nothing is left to try.
  const double share = counts.at({0, 1}) / static_cast<double>(kDraws);
  EXPECT_NEAR(share, kDropout, 5 * std::sqrt(kDropout * (1 - kDropout) / kDraws));
  // abab: the left "a b" is left out and waits until the right one has been made, and is tried again.
  const auto pairs = counted(*sampler, {3}, kDraws);
  const double both_out = pairs.at({0, 1, 0, 1}) / static_cast<double>(kDraws);
  EXPECT_NEAR(both_out, kDropout * kDropout, 5 * std::sqrt(kDropout * kDropout / kDraws));
  const double right_only = pairs.at({0, 1, 2}) / static_cast<double>(kDraws);
  const double expected = kDropout * (1 - kDropout) * kDropout;
  EXPECT_NEAR(right_only, expected, 5 * std::sqrt(expected / kDraws));
}

TEST(SubwordSampler, PiecesAreDrawnByTheirProbability) {
  constexpr int kDraws = 20000;
  for (const double alpha : {0.1, 1.0, 2.0}) {
    const auto sampler = make_subword_sampler(*small_pieces(), {.unigram_alpha = alpha});
    const auto counts = counted(*sampler, {3}, kDraws);
    ASSERT_EQ(counts.size(), 2U);
    // "ab" has exp(-3 alpha), "a" and "b" together exp(-4 alpha).
    const double expected = 1 / (1 + std::exp(-alpha));
    EXPECT_NEAR(counts.at({3}) / static_cast<double>(kDraws), expected,
                5 * std::sqrt(expected * (1 - expected) / kDraws));
  }
}

TEST(SubwordSampler, SpecialAndUnknownTokensStay) {
  const auto merges = make_subword_sampler(*small_merges(), {.bpe_dropout = 0.9});
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Ids drawn = merges->draw(Ids{4, 3, 4}, seed).ids;
    EXPECT_EQ(drawn.front(), 4);
    EXPECT_EQ(drawn.back(), 4);
  }
  const auto pieces = make_subword_sampler(*small_pieces(), {.unigram_alpha = 0.5});
  EXPECT_EQ(pieces->draw(Ids{0, 1, 0}, 3).ids, (Ids{0, 1, 0}));
  EXPECT_TRUE(pieces->draw({}, 3).ids.empty());
}

TEST(SubwordSampler, SaysWhereTokensWent) {
  const auto merges = make_subword_sampler(*small_merges(), {.bpe_dropout = 0.5});
  std::map<Ids, DrawnTokens> drawn;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const DrawnTokens tokens = merges->draw(Ids{4, 0, 1, 2, 4}, seed);  // <s> a b ab <s>
    drawn.try_emplace(tokens.ids, tokens);
  }
  const DrawnTokens& joined = drawn.at({4, 3, 4});
  EXPECT_EQ(joined.first, (Ids{0, 1, 1, 1, 2}));
  EXPECT_EQ(joined.last, (Ids{0, 1, 1, 1, 2}));
  const DrawnTokens& apart = drawn.at({4, 0, 1, 0, 1, 4});
  EXPECT_EQ(apart.first, (Ids{0, 1, 2, 3, 5}));
  EXPECT_EQ(apart.last, (Ids{0, 1, 2, 4, 5}));
  const DrawnTokens& mixed = drawn.at({4, 2, 0, 1, 4});
  EXPECT_EQ(mixed.first, (Ids{0, 1, 1, 2, 4}));
  EXPECT_EQ(mixed.last, (Ids{0, 1, 1, 3, 4}));
}

TEST_F(TrainedSubwords, ATokensTextIsWhereItWent) {
  for (const bool unigram : {false, true}) {
    const auto tokenizer = sampled_tokenizer(unigram);
    const SubwordSampling sampling =
        unigram ? SubwordSampling{.unigram_alpha = 0.2} : SubwordSampling{.bpe_dropout = 0.5};
    const auto sampler = make_subword_sampler(*tokenizer, sampling);
    const Ids ids = tokenizer->encode(" the weaver weaves the loom, the weavers the threads");
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const DrawnTokens drawn = sampler->draw(ids, seed);
      ASSERT_EQ(drawn.first.size(), ids.size());
      for (std::size_t token = 0; token < ids.size(); ++token) {
        const Ids there(drawn.ids.begin() + drawn.first[token], drawn.ids.begin() + drawn.last[token] + 1);
        EXPECT_NE(tokenizer->decode(there).find(tokenizer->decode(Ids{ids[token]})), std::string::npos);
      }
    }
  }
}

TEST(SubwordSampler, WhatCannotBeSampledIsAnError) {
  const auto bytes = make_byte_tokenizer();
  test::expect_error(ErrorKind::kUnsupported, {"bpe_dropout", "BPE", "bytes"},
                     [&] { make_subword_sampler(*bytes, {.bpe_dropout = 0.1}); });
  test::expect_error(ErrorKind::kUnsupported, {"unigram_alpha", "unigram", "BPE"},
                     [&] { make_subword_sampler(*small_merges(), {.unigram_alpha = 0.1}); });
  test::expect_error(ErrorKind::kArgument, {"one of"}, [&] { make_subword_sampler(*small_merges(), {}); });
  test::expect_error(ErrorKind::kArgument, {"5 ids", "9"},
                     [&] { make_subword_sampler(*small_merges(), {.bpe_dropout = 0.1})->draw(Ids{9}, 0); });
  const auto marked =
      loaded(R"({"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,
    "decoder":null,"model":{"type":"BPE","end_of_word_suffix":"</w>","vocab":{"a":0,"b</w>":1,"ab</w>":2},"merges":["a b</w>"]}})");
  test::expect_error(ErrorKind::kUnsupported, {"end_of_word_suffix"},
                     [&] { make_subword_sampler(*marked, {.bpe_dropout = 0.1}); });
}

TEST(WordBeginnings, AreBlanks) {
  const std::vector<bool> begins = word_beginnings(*make_byte_tokenizer());
  EXPECT_TRUE(begins[' ']);
  EXPECT_TRUE(begins['\n']);
  EXPECT_FALSE(begins['a']);
}

TEST(SubwordSampler, SidesOfPairs) {
  const std::filesystem::path pairs = std::filesystem::path(WEFT_TEST_DATA_DIR) / "pairs";
  for (const char* family : {"marian-codes", "pegasus", "bigbird_pegasus"}) {
    const auto pair = load_pair_tokenizer(pairs / family);
    const Tokenizer& side = pair->side(Side::kSource);
    const auto sampler = make_subword_sampler(side, {.unigram_alpha = 0.2});
    const Ids ids = pair->encode("The loom weaves the thread, and the thread weaves the cloth.", Side::kSource);
    int differ = 0;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      const Ids drawn = sampler->draw(ids, seed).ids;
      EXPECT_EQ(side.decode(drawn), side.decode(ids)) << family;
      EXPECT_EQ(drawn.back(), ids.back());
      differ += drawn != ids ? 1 : 0;
    }
    EXPECT_GT(differ, 10) << family;
    test::expect_error(ErrorKind::kUnsupported, {"bpe_dropout", pair->side(Side::kSource).kind()},
                       [&] { make_subword_sampler(side, {.bpe_dropout = 0.1}); });
  }
}

}  // namespace
}  // namespace weft::text
