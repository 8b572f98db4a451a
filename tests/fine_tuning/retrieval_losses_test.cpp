// SPDX-License-Identifier: Apache-2.0
// Losses of vectors by their equations, worked over plain numbers here, and beside those of sentence-transformers
// (tests/fixtures/make/sentence_losses.py).
#include "weft/fine_tuning/retrieval/losses.h"

#include <torch/types.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/formats/config_json.h"

namespace weft::fine_tuning {
namespace {

at::Tensor drawn(std::uint64_t seed, at::IntArrayRef sizes) {
  torch::manual_seed(seed);
  return torch::randn(sizes, torch::kDouble);
}

double cosine_of(const at::Tensor& a, const at::Tensor& b) {
  return (a * b).sum().item<double>() / (a.norm().item<double>() * b.norm().item<double>());
}

double value(const at::Tensor& loss) { return loss.item<double>(); }

// -log softmax(scores)[own], scores over the texts that `counts` says.
double in_batch_by_hand(const at::Tensor& queries, const at::Tensor& texts, double scale,
                        const std::function<bool(std::int64_t, std::int64_t)>& counts) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < queries.size(0); ++i) {
    double total = 0.0;
    for (std::int64_t j = 0; j < texts.size(0); ++j) {
      total += counts(i, j) ? std::exp(scale * cosine_of(queries[i], texts[j])) : 0.0;
    }
    sum += std::log(total) - scale * cosine_of(queries[i], texts[i]);
  }
  return sum / static_cast<double>(queries.size(0));
}

TEST(RetrievalLosses, InBatchNegativesAreAllOtherTexts) {
  const at::Tensor queries = drawn(1, {4, 6});
  const at::Tensor texts = drawn(2, {7, 6});  // of the pairs, and three negatives
  const auto every = [](std::int64_t, std::int64_t) { return true; };
  EXPECT_NEAR(value(in_batch_loss(queries, texts, {.scale = 5})), in_batch_by_hand(queries, texts, 5, every), 1e-12);
  const at::Tensor pairs = texts.narrow(0, 0, 4);
  EXPECT_NEAR(value(in_batch_loss(queries, texts, {.scale = 5, .symmetric = true})),
              (in_batch_by_hand(queries, texts, 5, every) + in_batch_by_hand(pairs, queries, 5, every)) / 2, 1e-12);
}

TEST(RetrievalLosses, WhatIsNoNegativeDoesNotCount) {
  const at::Tensor queries = drawn(3, {3, 5});
  const at::Tensor texts = drawn(4, {4, 5});
  const at::Tensor mask = torch::zeros({3, 4}, torch::kBool);
  mask[0][2] = true;
  mask[2][3] = true;
  const auto counts = [](std::int64_t i, std::int64_t j) { return !(i == 0 && j == 2) && !(i == 2 && j == 3); };
  EXPECT_NEAR(value(in_batch_loss(queries, texts, {.scale = 3, .no_negatives = mask})),
              in_batch_by_hand(queries, texts, 3, counts), 1e-12);
  const at::Tensor nothing_left = torch::tensor({{false, true}}, torch::kBool);
  EXPECT_NEAR(value(in_batch_loss(queries.narrow(0, 0, 1), texts.narrow(0, 0, 2), {.no_negatives = nothing_left})), 0,
              1e-12);
}

TEST(RetrievalLosses, ScoresOfPairs) {
  const at::Tensor first = drawn(5, {4, 6});
  const at::Tensor second = drawn(6, {4, 6});
  const at::Tensor scores = torch::tensor({0.1, 0.9, 0.9, -0.4}, torch::kDouble);
  double squares = 0.0;
  double order = 1.0;
  for (int i = 0; i < 4; ++i) {
    squares += std::pow(cosine_of(first[i], second[i]) - scores[i].item<double>(), 2) / 4;
    for (int j = 0; j < 4; ++j) {
      if (scores[i].item<double>() < scores[j].item<double>()) {
        order += std::exp(20 * (cosine_of(first[i], second[i]) - cosine_of(first[j], second[j])));
      }
    }
  }
  EXPECT_NEAR(value(cosine_loss(first, second, scores)), squares, 1e-12);
  EXPECT_NEAR(value(cosent_loss(first, second, scores, 20)), std::log(order), 1e-12);
}

TEST(RetrievalLosses, MatryoshkaIsAWeightedSumOverWidths) {
  const at::Tensor rows = drawn(7, {6, 8});
  const auto loss = [](const at::Tensor& cut) {
    return in_batch_loss(cut.narrow(0, 0, 3), cut.narrow(0, 3, 3), {.scale = 4});
  };
  const std::vector<std::int64_t> dims = {8, 3};
  const std::vector<double> weights = {1.0, 0.25};
  const double expected = value(loss(rows)) + 0.25 * value(loss(rows.narrow(1, 0, 3)));
  EXPECT_NEAR(value(matryoshka_loss(rows, dims, weights, loss)), expected, 1e-12);
  test::expect_error(ErrorKind::kArgument, {"matryoshka_dims", "8 numbers", "found 9"},
                     [&] { matryoshka_loss(rows, std::vector<std::int64_t>{9}, std::vector<double>{1}, loss); });
}

TEST(RetrievalLosses, LabelsOfPairsAndOfLists) {
  const at::Tensor logits = torch::tensor({0.5, -1.0, 2.0, 0.25, -0.5}, torch::kDouble);
  const at::Tensor labels = torch::tensor({1.0, 0.0, 0.5, 0.0, 1.0}, torch::kDouble);
  double binary = 0.0;
  for (int i = 0; i < 5; ++i) {
    const double right = 1 / (1 + std::exp(-logits[i].item<double>()));
    const double label = labels[i].item<double>();
    binary -= (label * std::log(right) + (1 - label) * std::log(1 - right)) / 5;
  }
  EXPECT_NEAR(value(binary_loss(logits, labels)), binary, 1e-12);
  const double first = std::log(std::exp(0.5) + std::exp(-1.0)) - 0.5;
  const double total = std::log(std::exp(2.0) + std::exp(0.25) + std::exp(-0.5));
  const double second = (0.5 * (total - 2.0) + 1.0 * (total + 0.5)) / 1.5;
  EXPECT_NEAR(value(list_loss(logits, labels, std::vector<std::int64_t>{2, 3})), (first + second) / 2, 1e-12);
}

TEST(RetrievalLosses, EqualSentenceTransformers) {
  const std::filesystem::path file = std::filesystem::path(WEFT_TEST_DATA_DIR) / "fine_tuning/sentence_losses.json";
  const formats::Json cases = formats::read_json(file).at("cases");
  ASSERT_GE(cases.size(), 6U);
  for (const formats::Json& one : cases) {
    const auto rows = [&](const char* name) {
      const auto list = one.at(name).get<std::vector<std::vector<double>>>();
      std::vector<at::Tensor> all;
      all.reserve(list.size());
      for (const std::vector<double>& row : list) {
        all.push_back(torch::tensor(row, torch::kDouble));
      }
      return torch::stack(all);
    };
    const auto loss = one.at("loss").get<std::string>();
    const double scale = one.value("scale", 20.0);
    at::Tensor found;
    if (loss == "in-batch" || loss == "symmetric") {
      found = in_batch_loss(rows("queries"), rows("texts"), {.scale = scale, .symmetric = loss == "symmetric"});
    } else if (loss == "matryoshka") {
      const at::Tensor queries = rows("queries");
      const auto dims = one.at("dims").get<std::vector<std::int64_t>>();
      const auto weights = one.at("weights").get<std::vector<double>>();
      found = matryoshka_loss(torch::cat({queries, rows("texts")}), dims, weights, [&](const at::Tensor& cut) {
        return in_batch_loss(cut.narrow(0, 0, queries.size(0)), cut.narrow(0, queries.size(0), queries.size(0)),
                             {.scale = scale});
      });
    } else {
      const at::Tensor scores = torch::tensor(one.at("scores").get<std::vector<double>>(), torch::kDouble);
      found = loss == "cosine" ? cosine_loss(rows("queries"), rows("texts"), scores)
              : loss == "cosent"
                  ? cosent_loss(rows("queries"), rows("texts"), scores, scale)
                  : binary_loss(torch::tensor(one.at("logits").get<std::vector<double>>(), torch::kDouble), scores);
    }
    EXPECT_NEAR(value(found), one.at("value").get<double>(), 1e-9) << loss;
  }
}

}  // namespace
}  // namespace weft::fine_tuning
