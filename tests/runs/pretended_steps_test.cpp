// SPDX-License-Identifier: Apache-2.0
// What a training step asks of a GPU, counted on one that is none: each operator is a launch or more, of some
// microseconds of the host, and each wait lets the GPU run dry.
#include <gtest/gtest.h>

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>
#include <torch/utils.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/text_files.h"
#include "models/small_encoder.h"
#include "support/layers/pretended_cuda.h"
#include "support/temporary_directory.h"
#include "weft/attention/devices/device.h"
#include "weft/bench/model_bench.h"
#include "weft/layers/inference/packed_weight.h"
#include "weft/layers/linear.h"
#include "weft/layers/linear_cross_entropy.h"
#include "weft/layers/replay/kept_operands.h"
#include "weft/training/optimizers/adafactor.h"
#include "weft/training/optimizers/lamb.h"
#include "weft/training/train_language_model.h"

namespace weft::test {
namespace {

using Counts = std::map<std::string, std::int64_t>;

// Before LibTorch is asked for CUDA by another test.
const c10::Device kPretendedGpu = pretended_cuda();

Counts counts_of(const std::function<void()>& work) {
  const Counts before = pretended_operator_counts();
  work();
  Counts counts = pretended_operator_counts();
  for (const auto& [name, count] : before) {
    counts[name] -= count;
  }
  return counts;
}

/// Those that launch something: views are made by the host.
std::int64_t launches(const Counts& counts) {
  std::int64_t sum = 0;
  for (const auto& [name, count] : counts) {
    sum += name == "aten::view" || name == "aten::as_strided" ? 0 : count;
  }
  return sum;
}

/// Of one training step of an encoder of `layers` layers in bfloat16, whose weights changed since the step before. Its
/// attention is LibTorch's: the portable backend, which computes patterns here, has many operators where a GPU has a
/// few kernels.
Counts counts_of_step(std::int64_t layers) {
  models::EncoderConfig config = small_encoder_config("roberta");
  config.num_hidden_layers = layers;
  models::EncoderOptions options;
  options.attention = {"full"};
  models::EncoderModel model = small_encoder(config, models::Head::kMaskedLanguageModel, options);
  model->to(kPretendedGpu);
  model->train();
  const attention::OpenOn open(kPretendedGpu);
  bench::ModelCase call;
  call.length = 96;
  call.dtype = at::kBFloat16;
  call.train = true;
  const models::EncoderInput input = bench::bench_input(config, call);
  bench::run_case(model, input, call);  // compiles the layout
  return counts_of([&] { bench::run_case(model, input, call); });
}

TEST(PretendedSteps, AskForFewOperatorsAndWaitForNothing) {
  const Counts two = counts_of_step(2);
  const Counts three = counts_of_step(3);
  const auto of_a_layer = [&](const std::string& name) {
    return (three.contains(name) ? three.at(name) : 0) - (two.contains(name) ? two.at(name) : 0);
  };
  // Eight of parameters once a step, ten of rows and gradients between both dtypes, and some twenty of LibTorch's
  // attention, which makes its operands contiguous.
  EXPECT_LE(of_a_layer("aten::copy_"), 39);
  EXPECT_LE(launches(three) - launches(two), 90);
  EXPECT_LE(launches(two), 243);
  EXPECT_FALSE(two.contains("wait") && two.at("wait") > 0) << two.at("wait");
}

TEST(PretendedSteps, LabelsOfTheCpuAreNotWaitedFor) {
  torch::manual_seed(6);
  at::Tensor labels = at::randint(30, {11}, at::TensorOptions().dtype(at::kLong));
  for (const bool some_are_ignored : {false, true}) {
    if (some_are_ignored) {
      labels.slice(0, 2, 5).fill_(layers::kIgnoredLabel);
    }
    const at::Tensor hidden = at::randn({11, 16}).to(kPretendedGpu, at::kBFloat16).requires_grad_();
    const at::Tensor weight = at::randn({30, 16}).to(kPretendedGpu, at::kBFloat16).requires_grad_();
    const auto gradient_with = [&](const at::Tensor& given) {
      hidden.mutable_grad() = weight.mutable_grad() = at::Tensor();
      layers::linear_cross_entropy(hidden, {weight, {}, nullptr}, given, 0).backward();
      return std::vector<at::Tensor>{hidden.grad(), weight.grad()};
    };
    const std::vector<at::Tensor> expected = gradient_with(labels.to(kPretendedGpu));
    std::vector<at::Tensor> found;
    EXPECT_EQ(counts_of([&] { found = gradient_with(labels); })["wait"], 0);
    EXPECT_TRUE(at::equal(found[0], expected[0]) && at::equal(found[1], expected[1])) << some_are_ignored;
  }
  const at::Tensor none = at::full({11}, layers::kIgnoredLabel, at::kLong);
  const at::Tensor hidden = at::randn({11, 16}).to(kPretendedGpu).requires_grad_();
  const at::Tensor weight = at::randn({30, 16}).to(kPretendedGpu).requires_grad_();
  const at::Tensor loss = layers::linear_cross_entropy(hidden, {weight, {}, nullptr}, none, 0);
  loss.backward();
  EXPECT_EQ(loss.item<double>(), 0.0);
  EXPECT_EQ(weight.grad().abs().max().item<double>(), 0.0);
}

TEST(PretendedSteps, OperandsAreMadeAgainWhenAParameterChanged) {
  const at::NoGradGuard no_graph;
  layers::KeptOperands kept;
  const at::Tensor weight = at::randn({4, 3}).to(kPretendedGpu);
  const at::Tensor bias = at::randn({4}).to(kPretendedGpu);
  const layers::Operands first = kept.of(weight, bias, at::kBFloat16);
  EXPECT_TRUE(at::equal(first.weight, weight.to(at::kBFloat16)) && at::equal(first.bias, bias.to(at::kBFloat16)));
  EXPECT_TRUE(kept.of(weight, bias, at::kBFloat16).weight.is_same(first.weight));
  weight.add_(1.0);
  const layers::Operands second = kept.of(weight, bias, at::kBFloat16);
  EXPECT_TRUE(at::equal(second.weight, weight.to(at::kBFloat16)));
  EXPECT_FALSE(at::equal(second.weight, first.weight));
  bias.add_(1.0);
  EXPECT_TRUE(at::equal(kept.of(weight, bias, at::kBFloat16).bias, bias.to(at::kBFloat16)));
  EXPECT_FALSE(kept.of(weight, bias, at::kFloat).weight.defined());
  EXPECT_FALSE(kept.of(weight.cpu(), bias.cpu(), at::kBFloat16).weight.defined());
}

// A row that a decoder multiplies is rounded to the type of products once, whatever is kept of the weights.
TEST(PretendedSteps, ARowThatADecoderMultipliesIsRoundedOnce) {
  const at::NoGradGuard no_graph;
  layers::KeptOperands kept;
  layers::PackedWeight packed;
  const at::Tensor weight = at::randn({40, 24}).to(kPretendedGpu);
  const at::Tensor x = at::randn({2, 24}).to(kPretendedGpu);
  at::autocast::set_autocast_enabled(at::kCUDA, true);
  at::autocast::set_autocast_dtype(at::kCUDA, at::kBFloat16);
  const at::Tensor expected = layers::apply_linear(x, weight, {}, kept, packed);
  const auto counts_of_product = [&] { return counts_of([&] { layers::apply_linear(x, weight, {}, kept, packed); }); };
  const std::int64_t plain = counts_of_product()["aten::copy_"];
  const layers::KeepingOperands keeps(true);
  EXPECT_EQ(counts_of_product()["aten::copy_"], plain);
  EXPECT_TRUE(at::equal(layers::apply_linear(x, weight, {}, kept, packed), expected));
  at::autocast::set_autocast_enabled(at::kCUDA, false);
  EXPECT_EQ(expected.scalar_type(), at::kBFloat16);
}

TEST(PretendedSteps, OperandsMadeInInferenceModeServeTraining) {
  layers::KeptOperands kept;
  const at::Tensor weight = at::randn({4, 3}).to(kPretendedGpu).requires_grad_();
  const at::Tensor bias = at::randn({4}).to(kPretendedGpu).requires_grad_();
  {
    const c10::InferenceMode inference;
    kept.of(weight, bias, at::kBFloat16);
  }
  const layers::Operands operands = kept.of(weight, bias, at::kBFloat16);
  EXPECT_FALSE(operands.weight.is_inference() || operands.bias.is_inference());
  EXPECT_FALSE(operands.weight.requires_grad() || operands.bias.requires_grad());
}

/// Four parameters, two groups, of which one has no decay.
std::vector<training::ParameterGroup> groups_on(c10::Device device) {
  torch::manual_seed(7);
  const auto made = [&](at::IntArrayRef sizes) { return at::randn(sizes).to(device).requires_grad_(); };
  return {{{{"a", made({7, 33})}, {"b", made({5, 4})}}, 0.1, 1.0}, {{{"c", made({19})}, {"d", made({3})}}, 0.0, 0.5}};
}

template <typename Made>
void expect_the_same_on_both(const Made& make) {
  std::vector<at::Tensor> results[2];
  for (const bool on_gpu : {false, true}) {
    const c10::Device device = on_gpu ? kPretendedGpu : c10::Device(c10::kCPU);
    const std::vector<training::ParameterGroup> groups = groups_on(device);
    const std::unique_ptr<training::Optimizer> optimizer = make(groups);
    for (int step = 0; step < 5; ++step) {
      for (const training::ParameterGroup& group : groups) {
        for (const auto& [name, parameter] : group.parameters) {
          parameter.mutable_grad() = at::randn(parameter.sizes()).mul_(3.0).to(device);
        }
      }
      EXPECT_EQ(counts_of([&] { optimizer->step(0.02, 1.5); })["wait"], 0);
    }
    for (const training::ParameterGroup& group : groups) {
      for (const auto& [name, parameter] : group.parameters) {
        results[on_gpu ? 1 : 0].push_back(parameter.detach().cpu());
      }
    }
  }
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    // Rates are rounded to float32 on a GPU, and multiply in another order.
    EXPECT_LE((results[0][i] - results[1][i]).abs().max().template item<double>(), 2e-6) << i;
  }
}

TEST(PretendedSteps, OptimisersMoveAsOnTheCpuAndWaitForNothing) {
  const training::AdamOptions adam{0.9, 0.99, 1e-6};
  expect_the_same_on_both([&](const auto& groups) { return std::make_unique<training::AdamW>(groups, adam); });
  expect_the_same_on_both([&](const auto& groups) { return std::make_unique<training::Lamb>(groups, adam); });
  for (const bool scales : {false, true}) {
    training::AdafactorOptions options;
    options.scale_by_parameter = scales;
    expect_the_same_on_both([&](const auto& groups) { return std::make_unique<training::Adafactor>(groups, options); });
  }
}

TEST(PretendedSteps, AStepOfARunWaitsOnce) {
  const TemporaryDirectory folder;
  write_text(folder / "train.txt", random_text(3000, 1));
  training::TextRun run;
  run.text.train_text = {(folder / "train.txt").string()};
  run.text.context = 32;
  run.trainer.batch_size = 4;
  run.trainer.threads = 1;
  run.trainer.dtype = "bfloat16";
  run.trainer.schedule = "constant";
  run.trainer.device = "cuda:0";
  models::TransformerConfig model;
  model.hidden_size = 32;
  model.num_hidden_layers = 2;
  model.num_attention_heads = 2;
  model.max_position_embeddings = 32;
  model.attention = {"causal"};  // LibTorch's, which waits for nothing; the portable backend does
  const attention::DevicesAreGiven given;
  std::map<std::int64_t, std::int64_t> waits;
  for (const std::int64_t steps : {2, 3, 6}) {  // the first run makes what a process makes once
    run.trainer.steps = steps;
    waits[steps] = counts_of([&] {
      training::train_language_model(folder / std::to_string(steps), run, model, text::make_byte_tokenizer());
    })["wait"];
  }
  EXPECT_EQ(waits[6] - waits[3], 3);
}

}  // namespace
}  // namespace weft::test
