// SPDX-License-Identifier: Apache-2.0
// Sentences by rule, what is hidden of them, and the contrastive loss against its equation.
#include "weft/layers/etc/sentence_structure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "support/expect_error.h"
#include "support/torch_gradcheck.h"

namespace weft::test {
namespace {

using layers::EtcStructure;

at::Tensor ids_of(std::vector<std::int64_t> ids, std::int64_t rows) {
  return at::tensor(ids, at::kLong).reshape({rows, -1});
}

TEST(SentenceStructure, SentencesEndBehindAMarkAndAtTheLongest) {
  const at::Tensor ids = ids_of({5, 9, 6, 7, 8, 4, 9, 3, 9, 2, 1, 1, 1, 1}, 2);
  at::Tensor keep = at::ones({2, 7}, at::kBool);
  keep[1].narrow(0, 3, 4).fill_(false);
  const EtcStructure structure = layers::sentence_structure(ids, keep, {.ends = {9}, .longest = 3});
  EXPECT_TRUE(structure.sentence.equal(ids_of({0, 0, 1, 1, 1, 2, 2, 0, 0, 1, -1, -1, -1, -1}, 2)))
      << structure.sentence;
  EXPECT_TRUE(structure.global_keep.equal(ids_of({1, 1, 1, 1, 1, 0}, 2).to(at::kBool)));
  EXPECT_TRUE(layers::sentence_structure(ids, {}, {}).sentence.equal(at::zeros({2, 7}, at::kLong)));
}

// "?!" is one end, and a separator behind a full stop is no sentence.
TEST(SentenceStructure, MarksThatFollowBelongToTheSentence) {
  const at::Tensor ids = ids_of({9, 8, 4, 8, 9, 9, 4, 9}, 1);
  EXPECT_TRUE(
      layers::sentence_structure(ids, {}, {.ends = {8, 9}}).sentence.equal(ids_of({0, 0, 1, 1, 1, 1, 2, 2}, 1)));
}

TEST(SentenceStructure, ParagraphsHaveGlobalTokensBeforeTheirSentences) {
  const at::Tensor ids = ids_of({4, 9, 4, 9, 7, 5, 9, 5, 7, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 2);
  const layers::TextStructure found = layers::text_structure(ids, {}, {.ends = {9}, .paragraph_ends = {7}});
  EXPECT_TRUE(found.structure.sentence.equal(ids_of({1, 1, 2, 2, 2, 4, 4, 5, 5, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 2)));
  EXPECT_TRUE(found.structure.paragraph.equal(ids_of({0, 0, 0, 0, 0, 3, 3, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 2)));
  EXPECT_TRUE(found.global_ids.equal(ids_of({5, 1, 1, 5, 1, 1, 5, 1, 0, 0, 0, 0}, 2)));
  EXPECT_TRUE(found.structure.global_keep.equal(found.global_ids != 0));
}

TEST(SentenceStructure, WhatIsBeyondTheRoomBelongsToTheLast) {
  const at::Tensor ids = ids_of({4, 9, 4, 9, 4, 9, 4}, 1);
  const layers::TextStructure found = layers::text_structure(ids, {}, {.ends = {9}, .room = 2});
  EXPECT_TRUE(found.structure.sentence.equal(ids_of({0, 0, 1, 1, 1, 1, 1}, 1)));
  EXPECT_EQ(found.global_ids.size(1), 2);
  const layers::TextStructure cut =
      layers::text_structure(ids_of({4, 9, 4, 7, 4}, 1), {}, {.ends = {9}, .paragraph_ends = {7}, .room = 3});
  EXPECT_TRUE(cut.structure.sentence.equal(ids_of({1, 1, 2, 2, 2}, 1)));
  EXPECT_TRUE(cut.structure.paragraph.equal(ids_of({0, 0, 0, 0, 0}, 1)));
}

// A text of padding alone has no sentence, but the call one global token.
TEST(SentenceStructure, AnEmptyTextHasNone) {
  const EtcStructure structure =
      layers::sentence_structure(at::zeros({1, 2}, at::kLong), at::zeros({1, 2}, at::kBool), {.ends = {9}});
  EXPECT_EQ(structure.global_keep.sizes(), (std::vector<std::int64_t>{1, 1}));
  EXPECT_FALSE(structure.global_keep.any().item<bool>());
}

TEST(SentenceStructure, TooManyAreAnError) {
  expect_error(ErrorKind::kArgument, {"row 1", "3 sentences", "at most 2"}, [] {
    layers::sentence_structure(ids_of({1, 1, 1, 9, 1, 9, 1, 9, 1, 9}, 2), {}, {.ends = {9}, .most = 2});
  });
  expect_error(ErrorKind::kArgument, {"int64", "[2]"}, [] { layers::sentence_structure(at::zeros({2}), {}, {}); });
}

TEST(SentenceStructure, HiddenSentencesHaveTheMask) {
  const at::Tensor ids = ids_of({1, 2, 3, 4, 5, 6}, 2);
  const at::Tensor sentence = ids_of({0, 1, -1, 0, 0, 1}, 2);
  const at::Tensor chosen = ids_of({1, 0, 0, 1}, 2).to(at::kBool);
  EXPECT_TRUE(layers::hide_sentences(ids, sentence, chosen, 7).equal(ids_of({7, 2, 3, 4, 5, 7}, 2)));
}

TEST(SentenceStructure, TheContrastiveLossIsItsEquation) {
  at::manual_seed(3);
  const at::Tensor predicted = at::randn({2, 3, 4}, at::kDouble);
  const at::Tensor seen = at::randn({2, 3, 4}, at::kDouble);
  const at::Tensor chosen = ids_of({1, 0, 1, 0, 1, 0}, 2).to(at::kBool);
  const std::vector<std::pair<std::int64_t, std::int64_t>> rows = {{0, 0}, {0, 2}, {1, 1}};
  double expected = 0;
  for (const auto& [row, global] : rows) {
    double total = 0;
    double own = 0;
    for (const auto& [other, its] : rows) {
      const double product = (predicted[row][global] * seen[other][its]).sum().item<double>();
      total += std::exp(product);
      own = row == other && global == its ? product : own;
    }
    expected += (std::log(total) - own) / static_cast<double>(rows.size());
  }
  EXPECT_NEAR(layers::contrastive_loss(predicted, seen, chosen).item<double>(), expected, 1e-12);
  testing::expect_gradients(
      [&](const std::vector<at::Tensor>& inputs) { return layers::contrastive_loss(inputs[0], inputs[1], chosen); },
      {predicted, seen});
  EXPECT_EQ(layers::contrastive_loss(predicted, seen, at::zeros({2, 3}, at::kBool)).item<double>(), 0.0);
}

}  // namespace
}  // namespace weft::test
