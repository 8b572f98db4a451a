// SPDX-License-Identifier: Apache-2.0
// Several decoders as one: the means, to the numbers of one decoder that has them as its table.
#include "weft/generation/joint_decoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/randn.h>

#include "generation/table_decoder.h"
#include "support/expect_error.h"
#include "weft/generation/search/search.h"

namespace weft::generation {
namespace {

constexpr std::int64_t kWords = 7;

std::vector<at::Tensor> random_tables(int count) {
  at::manual_seed(5);
  std::vector<at::Tensor> tables;
  tables.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    tables.push_back(at::randn({kWords, kWords, kWords}) * 2);
  }
  return tables;
}

JointDecoder joined_tables(const std::vector<at::Tensor>& tables, const std::vector<double>& weights, JointMean mean) {
  std::vector<std::unique_ptr<Decoder>> decoders;
  decoders.reserve(tables.size());
  for (const at::Tensor& table : tables) {
    decoders.push_back(std::make_unique<test::TableDecoder>(table));
  }
  return {std::move(decoders), weights, mean};
}

GenerationConfig beam_settings(std::int64_t beams) {
  GenerationConfig config;
  config.num_beams = beams;
  config.num_return_sequences = beams;
  config.max_new_tokens = 6;
  config.eos_token_id = {0};
  return config;
}

const std::vector<Ids> kPrompts = {{1}, {2}, {3}};

TEST(JointDecoder, WritesAsTheMeanOfProbabilitiesWould) {
  const std::vector<at::Tensor> tables = random_tables(3);
  const std::vector<double> weights = {0.2, 0.5, 0.3};
  at::Tensor probabilities;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const at::Tensor part = at::log_softmax(tables[i].to(at::kDouble), 2).exp() * weights[i];
    probabilities = probabilities.defined() ? probabilities + part : part;
  }
  for (const std::int64_t beams : {1, 2, 4}) {
    test::TableDecoder one(probabilities.log().to(at::kFloat));
    // Weights count by their ratio.
    JointDecoder joint = joined_tables(tables, {2, 5, 3}, JointMean::kProbabilities);
    const auto expected = search(one, {.prompts = kPrompts}, beam_settings(beams));
    const auto found = search(joint, {.prompts = kPrompts}, beam_settings(beams));
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t prompt = 0; prompt < found.size(); ++prompt) {
      ASSERT_EQ(found[prompt].size(), expected[prompt].size());
      for (std::size_t text = 0; text < found[prompt].size(); ++text) {
        EXPECT_EQ(found[prompt][text].ids, expected[prompt][text].ids) << beams;
        EXPECT_NEAR(found[prompt][text].score, expected[prompt][text].score, 1e-5);
      }
    }
  }
}

// They sum to less than 1 and stay so: the score of a text is the mean of the models' scores of it.
TEST(JointDecoder, LogarithmsAreNotMadeToSumToOne) {
  const std::vector<at::Tensor> tables = random_tables(2);
  JointDecoder joint = joined_tables(tables, {1, 3}, JointMean::kLogarithms);
  GenerationConfig config = beam_settings(4);
  config.length_penalty = 0.0;
  for (const auto& texts : search(joint, {.prompts = {{2}}}, config)) {
    for (const Sequence& text : texts) {
      double sum = 0;
      std::int64_t before = 0;
      std::int64_t last = 2;
      for (const std::int64_t id : text.ids) {
        for (std::size_t i = 0; i < tables.size(); ++i) {
          const at::Tensor logs = at::log_softmax(tables[i].to(at::kDouble)[before][last], 0);
          sum += (i == 0 ? 0.25 : 0.75) * logs[id].item<double>();
        }
        before = last;
        last = id;
      }
      EXPECT_NEAR(text.score, sum, 1e-5);
    }
  }
}

TEST(JointDecoder, AModelWithoutWeightSaysNothing) {
  const std::vector<at::Tensor> tables = random_tables(2);
  for (const JointMean mean : {JointMean::kProbabilities, JointMean::kLogarithms}) {
    JointDecoder joint = joined_tables(tables, {1, 0}, mean);
    test::TableDecoder alone(tables[0]);
    const auto expected = search(alone, {.prompts = kPrompts}, beam_settings(3));
    const auto found = search(joint, {.prompts = kPrompts}, beam_settings(3));
    for (std::size_t prompt = 0; prompt < found.size(); ++prompt) {
      EXPECT_EQ(found[prompt].front().ids, expected[prompt].front().ids);
    }
  }
}

TEST(JointDecoder, RefusesOtherWeightsAndVocabularies) {
  const auto refuse = [](const std::vector<double>& weights, std::initializer_list<std::string_view> words) {
    test::expect_error(ErrorKind::kArgument, words, [&] { joint_weights(weights, 2, "--model-weights"); });
  };
  refuse({1}, {"--model-weights", "1 weights for 2 models"});
  refuse({1, -1}, {"a finite number from 0 on", "-1"});
  refuse({0, 0}, {"above 0"});
  refuse({1, std::numeric_limits<double>::quiet_NaN()}, {"a finite number from 0 on"});
  EXPECT_EQ(joint_weights({1e308, 1e308}, 2, "test"), (std::vector<double>{0.5, 0.5}));  // whose sum is no number
  EXPECT_EQ(joint_weights({}, 2, "test"), (std::vector<double>{0.5, 0.5}));
  JointDecoder joint = joined_tables({random_tables(1)[0], at::randn({9, 9, 9})}, {}, JointMean::kProbabilities);
  test::expect_error(ErrorKind::kArgument, {"one vocabulary", "7", "9"},
                     [&] { search(joint, {.prompts = kPrompts}, beam_settings(2)); });
}

}  // namespace
}  // namespace weft::generation
