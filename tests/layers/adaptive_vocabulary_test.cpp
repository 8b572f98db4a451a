// SPDX-License-Identifier: Apache-2.0
// A vocabulary in clusters against probabilities that are written out id by id, and against LibTorch's module where
// both mean the same; gradients; clusters without a token; what is no clustering.
#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/nn/modules/adaptive.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/torch_gradcheck.h"
#include "weft/layers/adaptive/embeddings.h"
#include "weft/layers/adaptive/softmax.h"

namespace weft::layers {
namespace {

constexpr std::int64_t kIds = 23;
constexpr std::int64_t kColumns = 8;
constexpr double kRounding = 1e-12;  // float64

AdaptiveConfig config_of(std::vector<std::int64_t> cutoffs, std::int64_t division) {
  return {kIds, kColumns, std::move(cutoffs), division};
}

/// The parts of a scorer as leaves: weight, bias and projection of each cluster, then those of the clusters.
std::vector<at::Tensor> random_parts(const AdaptiveConfig& config) {
  const std::vector<std::int64_t> bounds = config.bounds();
  std::vector<at::Tensor> parts;
  for (std::int64_t i = 0; i < config.clusters(); ++i) {
    const std::int64_t ids = bounds[static_cast<std::size_t>(i) + 1] - bounds[static_cast<std::size_t>(i)];
    parts.push_back(at::randn({ids, config.columns(i)}, at::kDouble));
    parts.push_back(at::randn({ids}, at::kDouble));
    parts.push_back(config.division > 1 ? at::randn({kColumns, config.columns(i)}, at::kDouble) : at::Tensor());
  }
  const bool several = config.clusters() > 1;
  parts.push_back(several ? at::randn({config.clusters() - 1, kColumns}, at::kDouble) : at::Tensor());
  parts.push_back(several ? at::randn({config.clusters() - 1}, at::kDouble) : at::Tensor());
  return parts;
}

AdaptiveScorer scorer_of(const AdaptiveConfig& config, const std::vector<at::Tensor>& parts, std::int64_t chunk = 0) {
  AdaptiveScorer::Parts given{{}, parts[parts.size() - 2], parts.back()};
  for (std::size_t i = 0; i + 2 < parts.size(); i += 3) {
    given.clusters.push_back({parts[i], parts[i + 1], parts[i + 2]});
  }
  return {config.bounds(), given, chunk};
}

/// exp(score) over the sum of its softmax, times that of the cluster: Grave et al. 2017, section 3.
double probability(const AdaptiveConfig& config, const std::vector<at::Tensor>& parts, const at::Tensor& h,
                   std::int64_t id) {
  const std::vector<std::int64_t> bounds = config.bounds();
  const auto inside = [&](std::size_t cluster, std::int64_t place) {
    const at::Tensor& projection = parts[3 * cluster + 2];
    const at::Tensor narrow = projection.defined() ? at::matmul(h, projection) : h;
    at::Tensor scores = at::matmul(parts[3 * cluster], narrow) + parts[3 * cluster + 1];
    if (cluster == 0 && parts.back().defined()) {
      scores = at::cat({scores, at::matmul(parts[parts.size() - 2], narrow) + parts.back()});
    }
    scores = at::exp(scores);
    return scores[place].item<double>() / scores.sum().item<double>();
  };
  for (std::size_t i = bounds.size() - 2; i > 0; --i) {
    if (id >= bounds[i]) {
      return inside(i, id - bounds[i]) * inside(0, bounds[1] + static_cast<std::int64_t>(i) - 1);
    }
  }
  return inside(0, id);
}

const std::vector<AdaptiveConfig> kConfigs = {config_of({5, 11}, 1), config_of({5, 11}, 2), config_of({1, 22}, 2),
                                              config_of({22}, 8), config_of({}, 1)};

TEST(AdaptiveSoftmax, ProbabilitiesAreThoseOfTheEquations) {
  torch::manual_seed(4);
  for (const AdaptiveConfig& config : kConfigs) {
    const std::vector<at::Tensor> parts = random_parts(config);
    const at::Tensor hidden = at::randn({9, kColumns}, at::kDouble);
    at::Tensor labels = at::tensor({3, -100, 22, 5, 4, 10, 11, -100, 0}, at::kLong);
    const at::Tensor logarithms = scorer_of(config, parts).log_probabilities(hidden);
    ASSERT_EQ(logarithms.sizes(), at::IntArrayRef({9, kIds}));
    const LabelScores scores = scorer_of(config, parts, 2).token_scores(hidden, labels);
    double nats = 0.0;
    for (std::int64_t row = 0; row < 9; ++row) {
      for (std::int64_t id = 0; id < kIds; ++id) {
        EXPECT_NEAR(std::exp(logarithms[row][id].item<double>()), probability(config, parts, hidden[row], id),
                    kRounding);
      }
      const auto label = labels[row].item<std::int64_t>();
      const double expected = label < 0 ? 0.0 : -std::log(probability(config, parts, hidden[row], label));
      EXPECT_NEAR(scores.nats[row].item<double>(), expected, kRounding) << "in the order of the text, row " << row;
      EXPECT_EQ(scores.hits[row].item<bool>(), label >= 0 && logarithms[row].argmax().item<std::int64_t>() == label);
      nats += expected;
    }
    for (const std::int64_t chunk : {0, 1, 4}) {
      EXPECT_NEAR(scorer_of(config, parts, chunk).loss(hidden, labels).item<double>(), nats / 7, kRounding);
    }
    EXPECT_NEAR(scorer_of(config, parts).loss(hidden.narrow(0, 2, 1), labels.narrow(0, 2, 1)).item<double>(),
                scores.nats[2].item<double>(), kRounding);
    labels.fill_(-100);
    EXPECT_EQ(scorer_of(config, parts).loss(hidden, labels).item<double>(), 0.0);
  }
}

TEST(AdaptiveSoftmax, EqualsLibTorchWhereBothMeanTheSame) {
  torch::manual_seed(5);
  torch::nn::AdaptiveLogSoftmaxWithLoss theirs(
      torch::nn::AdaptiveLogSoftmaxWithLossOptions(kColumns, kIds, {5, 11}).div_value(2).head_bias(true));
  theirs->to(at::kDouble);
  const auto weights = theirs->named_parameters();
  const at::Tensor& head = weights["head.weight"];
  const at::Tensor& bias = weights["head.bias"];
  // Theirs projects all clusters but the first, and only the first has biases.
  AdaptiveScorer::Parts parts{
      {{head.narrow(0, 0, 5), bias.narrow(0, 0, 5), {}}}, head.narrow(0, 5, 2), bias.narrow(0, 5, 2)};
  for (const std::string tail : {"tail.0.", "tail.1."}) {
    const at::Tensor& last = weights[tail + "1.weight"];
    parts.clusters.push_back({last, at::zeros({last.size(0)}, at::kDouble), weights[tail + "0.weight"].t()});
  }
  const AdaptiveScorer ours({0, 5, 11, kIds}, parts, 0);
  const at::Tensor hidden = at::randn({31, kColumns}, at::kDouble);
  const at::Tensor labels = at::randint(kIds, {31}, at::kLong);
  const auto expected = theirs->forward(hidden, labels);
  const at::NoGradGuard without_gradients;
  EXPECT_LT((ours.log_probabilities(hidden) - theirs->log_prob(hidden)).abs().max().item<double>(), kRounding);
  EXPECT_LT((ours.token_scores(hidden, labels).nats + expected.output).abs().max().item<double>(), kRounding);
  EXPECT_NEAR(ours.loss(hidden, labels).item<double>(), expected.loss, kRounding);
}

/// Nats as kimiyoung's PyTorch program has them, from its rules: cluster i is column -i of the first softmax, and what
/// it returns stands by cluster, in each in the order of the text.
std::vector<double> kimiyoung_nats(const AdaptiveConfig& config, const std::vector<at::Tensor>& parts,
                                   const at::Tensor& hidden, const at::Tensor& labels) {
  const std::vector<std::int64_t> bounds = config.bounds();
  const auto logarithms = [&](std::size_t cluster, const at::Tensor& h) {
    const at::Tensor& projection = parts[3 * cluster + 2];
    const at::Tensor narrow = projection.defined() ? at::matmul(projection.t(), h) : h;
    at::Tensor scores = at::matmul(parts[3 * cluster], narrow) + parts[3 * cluster + 1];
    if (cluster == 0 && parts.back().defined()) {
      scores = at::cat({scores, at::matmul(parts[parts.size() - 2], narrow) + parts.back()});
    }
    return scores - scores.exp().sum().log();
  };
  std::vector<double> nats;
  for (std::size_t cluster = 0; cluster + 1 < bounds.size(); ++cluster) {
    for (std::int64_t row = 0; row < labels.size(0); ++row) {
      const auto label = labels[row].item<std::int64_t>();
      if (label < bounds[cluster] || label >= bounds[cluster + 1]) {
        continue;
      }
      const at::Tensor first = logarithms(0, hidden[row]);
      double logarithm = 0.0;
      if (cluster == 0) {
        logarithm = first[label].item<double>();
      } else {
        const at::Tensor inside = logarithms(cluster, hidden[row]);
        logarithm = (first[-static_cast<std::int64_t>(cluster)] + inside[label - bounds[cluster]]).item<double>();
      }
      nats.push_back(-logarithm);
    }
  }
  return nats;
}

TEST(AdaptiveSoftmax, ClustersTheOtherWayRoundAreKimiyoungs) {
  torch::manual_seed(9);
  const std::vector<AdaptiveConfig> configs = {config_of({5, 11, 17}, 2), config_of({5, 11, 17}, 1), config_of({22}, 2),
                                               config_of({}, 1)};
  for (const AdaptiveConfig& config : configs) {
    std::vector<at::Tensor> parts = random_parts(config);
    const at::Tensor hidden = at::randn({40, kColumns}, at::kDouble);
    const at::Tensor labels = at::randint(kIds, {40}, at::kLong);
    const at::Tensor ours = scorer_of(config, parts).token_scores(hidden, labels).nats;
    const std::vector<std::int64_t> bounds = config.bounds();
    std::vector<double> by_cluster;
    for (std::size_t cluster = 0; cluster + 1 < bounds.size(); ++cluster) {
      for (std::int64_t row = 0; row < 40; ++row) {
        const auto label = labels[row].item<std::int64_t>();
        if (label >= bounds[cluster] && label < bounds[cluster + 1]) {
          by_cluster.push_back(ours[row].item<double>());
        }
      }
    }
    const bool several = config.clusters() > 2;  // with two there is one class of a cluster, first and last
    const std::vector<double> as_they_are = kimiyoung_nats(config, parts, hidden, labels);
    if (config.clusters() > 1) {
      parts[parts.size() - 2] = parts[parts.size() - 2].flip(0);
      parts.back() = parts.back().flip(0);
    }
    const std::vector<double> permuted = kimiyoung_nats(config, parts, hidden, labels);
    ASSERT_EQ(permuted.size(), by_cluster.size());
    double largest = 0.0;
    for (std::size_t i = 0; i < permuted.size(); ++i) {
      EXPECT_NEAR(permuted[i], by_cluster[i], kRounding) << i;
      largest = std::max(largest, std::abs(as_they_are[i] - by_cluster[i]));
    }
    EXPECT_EQ(largest > 1e-3, several) << "without the permutation they differ";
  }
}

TEST(AdaptiveSoftmax, GradientsReachEveryPart) {
  torch::manual_seed(6);
  const AdaptiveConfig config = config_of({5, 11}, 2);
  std::vector<at::Tensor> inputs = random_parts(config);
  inputs.push_back(at::randn({6, kColumns}, at::kDouble));
  // The second time no label lies in the cluster in the middle: its gradients are zeros.
  for (const at::Tensor& labels :
       {at::tensor({3, 22, 5, -100, 12, 0}, at::kLong), at::tensor({3, 22, 11, -100, 12, 0}, at::kLong)}) {
    testing::expect_gradients(
        [&](const std::vector<at::Tensor>& given) {
          const std::vector<at::Tensor> parts(given.begin(), given.end() - 1);
          return scorer_of(config, parts).loss(given.back(), labels);
        },
        inputs);
  }
}

TEST(AdaptiveEmbeddings, RowsAreProjectedOnesOfTheirCluster) {
  torch::manual_seed(8);
  for (const AdaptiveConfig& config : kConfigs) {
    AdaptiveEmbeddings embeddings(config, at::TensorOptions(at::kDouble));
    std::vector<at::Tensor> rows;
    {
      const at::NoGradGuard without_gradients;
      for (at::Tensor& parameter : embeddings->parameters()) {
        parameter.normal_();
      }
      for (const AdaptiveTable& table : embeddings->tables()) {
        rows.push_back(table->projection.defined() ? at::matmul(table->weight, table->projection.t()) : table->weight);
      }
    }
    for (const at::Tensor& ids : {at::randint(kIds, {3, 7}, at::kLong), at::randint(1, {1, 1}, at::kLong)}) {
      const at::Tensor found = embeddings(ids);
      const at::Tensor expected = at::cat(rows).index_select(0, ids.flatten()).view(found.sizes());
      EXPECT_LT((found - expected).abs().max().item<double>(), kRounding);
      found.sum().backward();
      for (const auto& parameter : embeddings->named_parameters()) {
        EXPECT_TRUE(parameter.value().grad().defined()) << parameter.key();
      }
    }
  }
}

TEST(AdaptiveHead, HasWhatTheEmbeddingsLack) {
  const AdaptiveConfig config = config_of({5, 11}, 2);
  const AdaptiveEmbeddings embeddings(config, at::TensorOptions(at::kDouble));
  for (const bool tied : {true, false}) {
    const AdaptiveHead head(config, tied, at::TensorOptions(at::kDouble));
    const auto names = head->named_parameters();
    EXPECT_TRUE(names.contains("cluster_0.projection"));
    EXPECT_EQ(names.contains("cluster_1.projection"), !tied);
    EXPECT_EQ(names.contains("cluster_2.weight"), !tied);
    EXPECT_EQ(names["cluster_2.bias"].sizes(), at::IntArrayRef({12}));
    EXPECT_EQ(names["cluster_weight"].sizes(), at::IntArrayRef({2, kColumns}));
    const at::Tensor hidden = at::zeros({1, kColumns}, at::kDouble);
    EXPECT_EQ(head->scorer(*embeddings, 0).log_probabilities(hidden).sizes(), at::IntArrayRef({1, kIds}));
  }
}

TEST(AdaptiveConfig, WhatIsNoClusteringIsRefused) {
  const auto refused = [](std::vector<std::int64_t> cutoffs, std::int64_t division, const std::string& part) {
    test::expect_error(ErrorKind::kArgument, {"model config", part},
                       [&] { check_clusters(config_of(std::move(cutoffs), division), "model config"); });
  };
  refused({0}, 1, "found 0 behind 0");
  refused({7, 7}, 1, "found 7 behind 7");
  refused({7, 3}, 1, "found 3 behind 7");
  refused({5, 23}, 1, "vocab_size = 23, found 23");
  refused({5, 11}, 3, "leaves no column");
  refused(std::vector<std::int64_t>(65, 1), 1, "at most 64");
  check_clusters(config_of({1, 22}, 2), "model config");
}

}  // namespace
}  // namespace weft::layers
