// SPDX-License-Identifier: Apache-2.0
// Small requests that ask for much cost much: the answers that they were measured to have are below what is expected.
#include "weft/requests/request_cost.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/requests/search_body.h"

namespace weft::requests {
namespace {

using server::Cost;
using server::Text;

constexpr std::int64_t kMany = std::int64_t{1} << 20;

std::vector<Text> texts(std::size_t count, const std::string& text) { return {count, Text{.first = text}}; }

TEST(RequestCost, TokensAreAtLeastTheBytesOfTexts) {
  const std::vector<Text> pair = {{.first = "question", .second = "context"}};
  const std::vector<std::string> labels = {"a", "b"};
  for (const Cost& cost :
       {label_cost(pair, labels, 0), tag_cost(pair), answer_cost(pair, 1, 15), mask_cost(pair, "[MASK]", 5, 512),
        restore_cost(pair), embed_cost(pair, 8), base64_cost(pair, 8), token_vectors_cost(pair, 8),
        pair_cost(pair, true), translate_cost(pair), summarize_cost(pair, 1, 10), align_cost(pair),
        generate_cost(pair, 1, 10, false), view_cost(pair.front(), 4, 64, 8, kMany)}) {
    EXPECT_GE(cost.tokens, 15);
    EXPECT_GE(cost.answer_bytes, 0);
  }
}

// Ten masks and a vocabulary of 30,522 gave 49.6 MB, ninety 1.8 GB.
TEST(RequestCost, CandidatesForMasks) {
  const auto cost = [](int masks) {
    std::string text;
    for (int i = 0; i < masks; ++i) {
      text += "[MASK] ";
    }
    return mask_cost(texts(1, text), "[MASK]", std::min<std::int64_t>(kMany, 30522), 512).answer_bytes;
  };
  EXPECT_GT(cost(10), 49'600'000);
  EXPECT_GT(cost(90), 1'800'000'000);
  EXPECT_LT(cost(90), 4'000'000'000);
  EXPECT_LT(mask_cost(texts(1, "the [MASK] weaves"), "[MASK]", 5, 512).answer_bytes, 1000);
}

TEST(RequestCost, LabelsThatAreAskedFor) {
  const std::vector<std::string> labels(1000, "LABEL");
  EXPECT_GT(label_cost(texts(1, "a"), labels, 0).answer_bytes, 50'000);
  EXPECT_LT(label_cost(texts(1, "a"), labels, 1).answer_bytes, 100);
  EXPECT_EQ(label_cost(texts(1, "a"), labels, kMany).answer_bytes, label_cost(texts(1, "a"), labels, 0).answer_bytes);
}

// A number in base64 is 16/3 bytes; a token is a byte at least, and has a vector; a control character is six bytes.
TEST(RequestCost, Vectors) {
  EXPECT_GT(base64_cost(texts(2048, "a"), 1024).answer_bytes, 2048LL * 1024 * 16 / 3);
  EXPECT_LT(base64_cost(texts(2048, "a"), 1024).answer_bytes, embed_cost(texts(2048, "a"), 1024).answer_bytes / 3);
  EXPECT_GT(token_vectors_cost(texts(2, "a b c"), 384).answer_bytes, 2 * (3 + 2) * 384 * 20);
  const std::vector<Text> pairs(10, {.first = "query", .second = std::string(100, '\x01')});
  EXPECT_GT(pair_cost(pairs, true).answer_bytes, 10 * 600);
  EXPECT_LT(pair_cost(pairs, false).answer_bytes, 1000);
}

TEST(RequestCost, WhatAModelWrites) {
  EXPECT_GT(generate_cost(texts(1, "a"), 1, 1000, false).tokens, 1000);
  EXPECT_GT(generate_cost(texts(3, "a"), 32, 1000, false).answer_bytes, 3 * 32 * 1000);
  EXPECT_GT(generate_cost(texts(1, std::string(1000, 'a')), 32, 1, true).answer_bytes, 32 * 1000);
  EXPECT_GT(summarize_cost(texts(100, "a"), 2, 142).answer_bytes, 2 * 100 * 142);
}

TEST(RequestCost, WhatIsTooMuchStaysLarge) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max() / 2;
  EXPECT_GT(generate_cost(texts(1000, "a"), 32, kHuge, true).answer_bytes, kMany);
  const std::vector<Text> pair = {{.first = "a", .second = "b"}};
  EXPECT_GT(answer_cost(pair, kHuge, kHuge).answer_bytes, kMany);
}

// One long text in a store does not make every answer long.
TEST(RequestCost, ASearchScansAllAndAnswersWithTheLongest) {
  const SearchedTexts texts{.passages = 1'000'000, .longest = {5000, 100, 10}};
  EXPECT_EQ(search_cost({.query = "who?", .top_k = 1}, texts).tokens, 4 + 2000);
  EXPECT_GE(search_cost({.query = "who?", .top_k = 1}, texts).answer_bytes, 5000);
  EXPECT_LT(search_cost({.query = "who?", .top_k = 100}, texts).answer_bytes, 2 * 5110);
  EXPECT_EQ(search_cost({.query = "who?"}, {}).answer_bytes, 0);
}

TEST(RequestCost, AnAnswerCountsAsWorkToo) { EXPECT_EQ((Cost{.tokens = 10, .answer_bytes = 640}.work()), 20); }

}  // namespace
}  // namespace weft::requests
