// SPDX-License-Identifier: Apache-2.0
// Bits per byte over windows: every token but the first scored once, with enough context, and exact for models that are
// known.
#include "weft/training/evaluation/window_scoring.h"

#include <ATen/ops/gather.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "data/text_files.h"
#include "models/small_model.h"
#include "support/expect_error.h"
#include "weft/layers/memory/segment_memory.h"
#include "weft/training/evaluation/segment_scoring.h"

namespace weft::training {
namespace {

at::Tensor position_ids(std::int64_t count) { return torch::arange(count, at::kLong); }

WindowOptions window_options(std::int64_t context, std::int64_t batch_tokens = 64) {
  WindowOptions options;
  options.context = context;
  options.batch_tokens = batch_tokens;
  return options;
}

TEST(WindowScoring, ScoresEveryTokenButTheFirstOnceWithHalfAContext) {
  for (const std::int64_t context : {1, 2, 3, 7, 8, 16, 100}) {
    for (const std::int64_t count : {2, 3, 8, 9, 16, 17, 33, 100, 101}) {
      std::map<std::int64_t, std::int64_t> scored;  // token -> tokens before it that the model saw
      const auto losses = [&](const at::Tensor& inputs, const at::Tensor& labels) {
        EXPECT_LE(inputs.size(1), context);
        for (std::int64_t row = 0; row < inputs.size(0); ++row) {
          for (std::int64_t i = 0; i < inputs.size(1); ++i) {
            const auto label = labels[row][i].item<std::int64_t>();
            if (label >= 0) {
              EXPECT_EQ(label, inputs[row][i].item<std::int64_t>() + 1);
              EXPECT_TRUE(scored.emplace(label, i + 1).second) << "token " << label << " was scored twice";
            }
          }
        }
        return torch::zeros(inputs.sizes());
      };
      summed_nats(losses, position_ids(count), window_options(context));
      ASSERT_EQ(static_cast<std::int64_t>(scored.size()), count - 1) << context << ' ' << count;
      for (const auto& [token, seen] : scored) {
        EXPECT_GE(seen, std::min(token, (context + 1) / 2)) << "token " << token << " context " << context;
      }
    }
  }
}

TEST(WindowScoring, IsExactForAMarkovChain) {
  // log P(next | current) of a fixed chain: the windows must not change the sum.
  torch::manual_seed(3);
  const at::Tensor log_probabilities = torch::log_softmax(torch::randn({11, 11}, at::kDouble), 1);
  const at::Tensor ids = torch::randint(11, {500}, at::kLong);
  double expected = 0.0;
  for (std::int64_t i = 1; i < ids.numel(); ++i) {
    expected -= log_probabilities[ids[i - 1].item<std::int64_t>()][ids[i].item<std::int64_t>()].item<double>();
  }
  const auto losses = [&](const at::Tensor& inputs, const at::Tensor& labels) {
    const at::Tensor rows = log_probabilities.index({inputs});
    const at::Tensor nats = -rows.gather(2, labels.clamp_min(0).unsqueeze(2)).squeeze(2);
    return nats * (labels >= 0);
  };
  for (const std::int64_t context : {1, 4, 64, 499, 1000}) {
    for (const std::int64_t batch_tokens : {1, 130, 100000}) {
      EXPECT_NEAR(summed_nats(losses, ids, window_options(context, batch_tokens)), expected, 1e-9);
    }
  }
}

TEST(WindowScoring, TellsHowFarItIsAndStopsForNaN) {
  const auto zeros = [](const at::Tensor& inputs, const at::Tensor&) { return torch::zeros(inputs.sizes()); };
  WindowOptions options = window_options(8);
  std::int64_t last = 0;
  options.progress = [&](std::int64_t done, std::int64_t total) {
    EXPECT_GT(done, last);
    EXPECT_EQ(total, 99);
    last = done;
  };
  summed_nats(zeros, position_ids(100), options);
  EXPECT_EQ(last, 99);
  const auto broken = [](const at::Tensor& inputs, const at::Tensor&) {
    return torch::full(inputs.sizes(), std::nan(""));
  };
  test::expect_error(ErrorKind::kNumeric, {"nan", "tokens 0 to"},
                     [&] { summed_nats(broken, position_ids(100), options); });
  test::expect_error(ErrorKind::kArgument, {"two tokens"}, [&] { summed_nats(zeros, position_ids(1), options); });
  test::expect_error(ErrorKind::kArgument, {"context"},
                     [&] { summed_nats(zeros, position_ids(9), window_options(0)); });
}

TEST(SegmentScoring, BeginsBehindNothingOrBehindZeros) {
  const at::NoGradGuard without_gradients;
  models::TransformerConfig config = test::small_config();
  config.position_embedding = "none";
  config.norm_position = "post";
  config.attention = {"relative(left=11)"};
  config.memory_length = 12;
  models::LanguageModel model = test::make_model(config);
  const at::Tensor ids = test::random_ids(1, 40);
  const auto behind = [&](std::int64_t rows) {
    const auto memory = std::make_shared<layers::SegmentMemory>();
    memory->layers.assign(rows > 0 ? 2 : 0, at::zeros({1, rows, config.hidden_size}));
    double nats = 0.0;
    for (std::int64_t first = 0; first < 39; first += 5) {
      models::ModelInput input = test::input_of(ids.narrow(1, first, std::min<std::int64_t>(5, 39 - first)));
      input.memory = memory;
      nats += model->token_scores(input, ids.narrow(1, first + 1, input.input_ids.size(1))).nats.sum().item<double>();
    }
    return nats;
  };
  const auto scored = [&](MemoryBegin begin) {
    return segment_nats(model, ids[0], window_options(5), [](const auto&, const auto&) {}, begin);
  };
  EXPECT_NEAR(scored(MemoryBegin::kEmpty), behind(0), 1e-3);  // float32, 200 nats
  EXPECT_NEAR(scored(MemoryBegin::kZeros), behind(12), 1e-3);
  EXPECT_GT(std::abs(behind(0) - behind(12)), 0.1);
}

}  // namespace
}  // namespace weft::training
