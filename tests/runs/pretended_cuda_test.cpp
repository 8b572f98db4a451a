// SPDX-License-Identifier: Apache-2.0
// Whole models on a GPU that is none (tests/support/layers/pretended_cuda.h): encoders of every family, language
// models, encoder-decoders, training that goes on where it stopped, generation, measurements. Their numbers are those
// of the CPU, and nothing that they compute with was left there.
#include <gtest/gtest.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "data/text_files.h"
#include "models/small_encoder.h"
#include "models/small_model.h"
#include "support/layers/pretended_cuda.h"
#include "support/temporary_directory.h"
#include "training/fake_task.h"
#include "weft/attention/devices/brought_home.h"
#include "weft/attention/devices/device.h"
#include "weft/attention/devices/device_work.h"
#include "weft/attention/devices/placed.h"
#include "weft/bench/attention_bench.h"
#include "weft/bench/mechanism_bench.h"
#include "weft/core/files.h"
#include "weft/generation/generate.h"
#include "weft/generation/pair_decoder.h"
#include "weft/layers/feed_forward.h"
#include "weft/layers/linear_cross_entropy.h"
#include "weft/layers/replay/recompute.h"
#include "weft/models/encoder_decoder.h"
#include "weft/models/family_names.h"
#include "weft/training/train_language_model.h"

namespace weft::test {
namespace {

using Gradients = std::vector<at::Tensor>;

// Before LibTorch is asked for CUDA by another test.
const c10::Device kPretended = pretended_cuda();

// Products of LibTorch and of Weft's kernels sum in other orders, through layers with weights far from zero.
constexpr double kRounding = 2e-4;

void expect_close(const at::Tensor& found, const at::Tensor& expected, const std::string& what) {
  ASSERT_EQ(found.sizes(), expected.sizes()) << what;
  const double scale = std::max(1.0, expected.abs().max().item<double>());
  EXPECT_LE((found.cpu() - expected).abs().max().item<double>(), kRounding * scale) << what;
}

// Gradients of `loss` by the parameters of `model` where it is, brought to the CPU.
template <typename Model, typename Loss>
std::pair<at::Tensor, Gradients> loss_and_gradients(Model& model, const Loss& loss) {
  model->zero_grad();
  const at::Tensor value = loss();
  value.backward();
  Gradients gradients;
  for (const at::Tensor& parameter : model->parameters()) {
    EXPECT_EQ(parameter.grad().defined() ? parameter.grad().device() : parameter.device(), parameter.device());
    gradients.push_back(parameter.grad().defined() ? parameter.grad().cpu() : at::Tensor());
  }
  return {value.detach().cpu(), std::move(gradients)};
}

// The same loss and gradients on both devices; the model stays on the pretended one.
template <typename Model, typename Loss>
void expect_same_loss(Model& model, const Loss& loss, const std::string& what) {
  const auto [expected, expected_gradients] = loss_and_gradients(model, loss);
  model->to(kPretended);
  const auto [found, gradients] = loss_and_gradients(model, loss);
  expect_close(found, expected, what);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    ASSERT_EQ(gradients[i].defined(), expected_gradients[i].defined()) << what << i;
    if (gradients[i].defined()) {
      expect_close(gradients[i], expected_gradients[i], concat(what, ", gradient ", i));
    }
  }
}

TEST(PretendedCuda, ATensorThatIsLeftOnTheCpuFails) {
  const at::Tensor there = at::randn({3, 4}).to(kPretended);
  EXPECT_EQ(there.device(), kPretended);
  EXPECT_THROW(there + at::randn({3, 4}), c10::Error);
  EXPECT_THROW(at::mm(there, at::randn({4, 2})), c10::Error);
  const at::Tensor view = there.transpose(0, 1)[1];
  view.add_(2.0);  // a number may come from the CPU
  EXPECT_TRUE(at::equal(view.cpu(), there.cpu().transpose(0, 1)[1]));
  const std::int64_t before = attention::device_bytes(kPretended);
  EXPECT_GT(before, 0);
  attention::reset_device_peak(kPretended);
  {
    const at::Tensor more = at::empty({1000}, there.options());
  }
  EXPECT_EQ(attention::device_peak(kPretended), before + 4000);
  EXPECT_EQ(attention::device_bytes(kPretended), before);
}

TEST(PretendedCudaDeathTest, ReadingItsMemoryEndsTheProcess) {
  const at::Tensor there = at::ones({4}).to(kPretended);
  const volatile float* const address = there.const_data_ptr<float>();
  EXPECT_DEATH(EXPECT_EQ(*address, 1.0F), "");
}

TEST(PretendedCuda, ResultsComeHomeInTheDtypeThatIsAsked) {
  for (const std::int64_t rows : {3, 4096}) {  // the second are more than 1 MB
    const at::Tensor here = at::randn({rows, 300});
    const at::Tensor there = here.to(kPretended, at::kBFloat16).slice(1, 0, 299);
    const at::Tensor found = attention::brought_home(there, at::kFloat);
    EXPECT_TRUE(found.is_cpu() && found.is_contiguous());
    EXPECT_TRUE(at::equal(found, here.to(at::kBFloat16).to(at::kFloat).slice(1, 0, 299))) << rows;
    EXPECT_TRUE(attention::brought_home(here, at::kFloat).is_same(here));
  }
}

// Large results come by pinned memory, in the dtype of the device, and stay in other memory; small ones at once.
TEST(PretendedCuda, OnlyLargeResultsComeHomeByPinnedMemory) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
    const std::int64_t width = (std::int64_t{1} << 20) / 512 / static_cast<std::int64_t>(c10::elementSize(dtype));
    for (const std::int64_t more : {-1, 0, 1}) {  // 1 MB is the first that is large
      const at::Tensor here = at::randn({512, width + more}).to(dtype);
      const at::Tensor there = here.to(kPretended);
      const std::int64_t before = pretended_pinned_bytes();
      const at::Tensor found = attention::brought_home(there, at::kFloat);
      const std::int64_t pinned = pretended_pinned_bytes() - before;
      EXPECT_EQ(pinned, more < 0 ? 0 : static_cast<std::int64_t>(here.nbytes())) << dtype << more;
      EXPECT_TRUE(found.equal(here.to(at::kFloat))) << dtype << more;
      EXPECT_TRUE(found.is_cpu() && found.is_contiguous() && found.scalar_type() == at::kFloat);
    }
  }
  const at::Tensor turned = at::arange(600000.0F).view({600, 1000}).to(kPretended).transpose(0, 1);
  const at::Tensor found = attention::brought_home(turned, at::kDouble);
  EXPECT_TRUE(found.is_contiguous() && found.equal(turned.cpu().to(at::kDouble)));
  const at::Tensor nothing = attention::brought_home(at::empty({0, 7}).to(kPretended), at::kFloat);
  EXPECT_EQ(nothing.sizes(), (at::IntArrayRef{0, 7}));
}

// What is sent and not waited for goes by pinned memory: a GPU may read other memory when its owner has changed it.
TEST(PretendedCuda, WhatIsSentMayChangeBehindTheCall) {
  const at::Tensor here = at::arange(12.0F).view({3, 4}).transpose(0, 1);
  EXPECT_ANY_THROW(here.to(kPretended, at::kFloat, /*non_blocking=*/true));
  const std::int64_t pinned = pretended_pinned_bytes();
  const std::int64_t waits = pretended_operator_counts()["wait"];
  const at::Tensor there = attention::placed(here, kPretended);
  EXPECT_EQ(pretended_pinned_bytes() - pinned, 48);
  const at::Tensor row = attention::placed(here[2].expand({5, 3}), kPretended);
  const at::Tensor nothing = attention::placed(at::empty({0, 7}), kPretended);
  EXPECT_EQ(pretended_operator_counts()["wait"], waits);
  EXPECT_TRUE(there.is_cuda() && there.cpu().equal(here));
  EXPECT_TRUE(row.cpu().equal(here[2].expand({5, 3})));
  EXPECT_EQ(nothing.sizes(), (at::IntArrayRef{0, 7}));
  EXPECT_TRUE(attention::placed(there, kPretended).is_same(there));
  EXPECT_FALSE(attention::placed({}, kPretended).defined());
  EXPECT_TRUE(attention::placed(there, at::kCPU).equal(here));
  const at::Tensor learned = at::ones({3}).set_requires_grad(true);
  attention::placed(learned, kPretended).sum().backward();
  EXPECT_TRUE(learned.grad().equal(at::ones({3})));
}

// A GPU multiplies rows of zeros beside a vocabulary that is no multiple of 8: their scores of 0 are never the best.
TEST(PretendedCuda, TheBestTokenIsOneOfTheVocabularyWhereAllScoresAreNegative) {
  at::manual_seed(5);
  const at::Tensor hidden = at::rand({9, 16}).add_(0.5).to(at::kBFloat16);
  for (const std::int64_t ids : {30, 33, 40}) {
    const at::Tensor weight = at::rand({ids, 16}).add_(0.5).neg_().to(at::kBFloat16);
    const at::Tensor scores = hidden.to(at::kFloat).mm(weight.to(at::kFloat).t());
    ASSERT_LT(scores.max().item<double>(), 0.0);
    const at::Tensor best = scores.to(at::kBFloat16).argmax(1);
    const auto hits_of = [&](const at::Tensor& labels) {
      return layers::linear_cross_entropy_each(hidden.to(kPretended), {weight.to(kPretended), {}, nullptr},
                                               labels.to(kPretended), 4);
    };
    const layers::LabelScores right = hits_of(best);
    // Scores that round to one bfloat16 may have either as their first.
    EXPECT_GE(right.hits.cpu().sum().item<std::int64_t>(), 8) << ids;
    const at::Tensor nats = at::cross_entropy_loss(scores, best, {}, at::Reduction::None);
    EXPECT_LE((right.nats.cpu() - nats).abs().max().item<double>(), 0.05) << ids;
    EXPECT_LE(hits_of((best + 1).remainder(ids)).hits.cpu().sum().item<std::int64_t>(), 1) << ids;
  }
}

TEST(PretendedCuda, LossesOfLabelsAreThoseOfTheCpuInEachDtype) {
  torch::manual_seed(5);
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const bool has_bias : {false, true}) {
      const at::Tensor labels = at::randint(30, {9}, at::TensorOptions().dtype(at::kLong));
      const std::vector<at::Tensor> numbers = {at::randn({9, 16}).to(dtype), at::randn({30, 16}).to(dtype),
                                               at::randn({30}).to(dtype)};
      const auto computed_on = [&](c10::Device device) {
        std::vector<at::Tensor> leaves;
        leaves.reserve(numbers.size());
        for (const at::Tensor& number : numbers) {
          leaves.push_back(number.to(device).detach().clone().requires_grad_());
        }
        const layers::HeadWeights head{leaves[1], has_bias ? leaves[2] : at::Tensor(), nullptr};
        const at::Tensor loss = layers::linear_cross_entropy(leaves[0], head, labels.to(device), 4);
        loss.backward();
        std::vector<at::Tensor> found{loss.detach().cpu()};
        for (std::size_t i = 0; i < (has_bias ? 3U : 2U); ++i) {
          found.push_back(leaves[i].grad().cpu().to(at::kFloat));
        }
        return found;
      };
      const std::vector<at::Tensor> expected = computed_on(c10::Device(c10::kCPU));
      const std::vector<at::Tensor> found = computed_on(kPretended);
      for (std::size_t i = 0; i < found.size(); ++i) {
        // Both round the same numbers once; half a unit of bfloat16 may fall to either side.
        const double most = dtype == at::kFloat ? 1e-6 : 1e-2;
        EXPECT_LE((found[i] - expected[i]).abs().max().item<double>(), most) << dtype << has_bias << i;
      }
    }
  }
}

TEST(PretendedCuda, FeedForwardsKeepNothingWideForTheBackwardPass) {
  constexpr std::int64_t kRows = 64;
  constexpr std::int64_t kWide = 512;
  layers::BlockConfig config;
  config.hidden_size = 8;
  config.intermediate_size = kWide;
  config.activation = "gelu";
  config.inner_dropout = 0.0;
  layers::FeedForward feed_forward(config, at::TensorOptions(at::kFloat));
  const at::Tensor x = at::randn({1, kRows, 8});
  for (at::Tensor& parameter : feed_forward->parameters()) {
    at::NoGradGuard without_gradients;
    parameter.normal_(0.0, 0.3);
  }
  const auto kept_and_loss = [&](const at::Tensor& rows) {
    const std::int64_t before = attention::device_bytes(kPretended);
    const at::Tensor loss = feed_forward(rows).square().sum();
    return std::pair(attention::device_bytes(kPretended) - before, loss);
  };
  expect_same_loss(
      feed_forward, [&] { return kept_and_loss(x.to(feed_forward->up->parameters()[0].device())).second; },
      "feed-forward");
  EXPECT_LT(kept_and_loss(x.to(kPretended)).first, kRows * kWide * 4);
  // Inside of a layer that is computed again as a whole, nothing is computed a third time.
  const auto operators_of = [&](const std::function<void()>& work) {
    const std::int64_t before = pretended_operators();
    work();
    return pretended_operators() - before;
  };
  const at::Tensor rows = x.to(kPretended);
  const std::int64_t alone = operators_of([&] { kept_and_loss(rows).second.backward(); });
  const auto whole = [&](const at::Tensor& again) { return feed_forward(again).square().sum(); };
  const std::int64_t inside =
      operators_of([&] { layers::recompute(whole, rows, feed_forward->parameters()).backward(); });
  EXPECT_LT(inside, alone + 8);  // a third time would be both products, their biases and GELU more
}

class EncodersOnCuda : public testing::TestWithParam<std::string> {};

TEST_P(EncodersOnCuda, HaveTheNumbersOfTheCpu) {
  const models::EncoderConfig config = small_encoder_config(GetParam());
  models::EncoderModel model = small_encoder(config, models::Head::kTokenClassification);
  models::EncoderInput input;
  input.input_ids = text_ids(2, 24);
  input.attention_mask = at::ones_like(input.input_ids);
  input.attention_mask[1].slice(0, 17).zero_();
  input.pair_places = at::full({2, 2}, -1, at::kLong);
  const at::Tensor labels = at::randint(2, {2, 24}, at::TensorOptions().dtype(at::kLong));
  const std::int64_t before = pretended_operators();
  expect_same_loss(model, [&] { return model->loss(input, {.labels = labels}); }, GetParam());
  EXPECT_GT(pretended_operators(), before);
  model->set_gradient_checkpointing(true);
  model->train();
  input.seed = 3;
  const auto recomputed = loss_and_gradients(model, [&] { return model->loss(input, {.labels = labels}); });
  EXPECT_TRUE(std::isfinite(recomputed.first.item<double>()));
}

// Each operator is some microseconds of the host, who has 200 a layer at 4,096 tokens on an H200.
TEST(PretendedCuda, ALayerOfALongformerWithoutGlobalPositionsAsksNothingMoreThanOneOfARoberta) {
  const auto operators_of_a_layer = [](const std::string& family) {
    std::int64_t count = 0;
    for (const std::int64_t layers : {2, 3}) {
      models::EncoderConfig config = small_encoder_config(family);
      config.num_hidden_layers = layers;
      models::update_fields(config, {{"attention_window", {8}}}, "config");
      models::EncoderOptions options;
      if (family == "roberta") {
        options.attention = {"window(8)"};
      }
      models::EncoderModel model = small_encoder(config, models::Head::kNone, options);
      model->to(kPretended);
      const at::NoGradGuard no_graph;
      const models::EncoderInput input{.input_ids = text_ids(1, 24)};
      model->hidden_states(input);  // compiles the layout
      const std::int64_t before = pretended_operators();
      model->hidden_states(input);
      count = pretended_operators() - before - count;  // of three layers, less those of two
    }
    return count;
  };
  EXPECT_EQ(operators_of_a_layer("longformer"), operators_of_a_layer("roberta"));
}

std::vector<std::string> encoder_families() {
  std::vector<std::string> names;
  for (const models::FamilyName& family : models::kFamilyNames) {
    if (family.kind == models::FamilyKind::kEncoder) {
      names.emplace_back(family.name);
    }
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Families, EncodersOnCuda, testing::ValuesIn(encoder_families()), [](const auto& family) {
  std::string name = family.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(PretendedCuda, LanguageModelsHaveTheNumbersOfTheCpuAndWriteTheSame) {
  for (const std::string attention : {"causal", "window(8) & causal | global(1) & causal", "linear", "relative"}) {
    models::TransformerConfig config = small_config();
    config.attention = {attention};
    if (attention == "relative") {
      config.position_embedding = "none";
    }
    models::LanguageModel model = make_model(config);
    const at::Tensor ids = random_ids(2, 20);
    generation::GenerationConfig greedy;
    greedy.do_sample = false;
    greedy.max_new_tokens = 12;
    const generation::Ids written = generation::generate(model, {72, 101, 108}, greedy).ids;
    expect_same_loss(model, [&] { return model->loss(input_of(ids), ids); }, attention);
    EXPECT_EQ(generation::generate(model, {72, 101, 108}, greedy).ids, written) << attention;
  }
}

TEST(PretendedCuda, EncoderDecodersHaveTheNumbersOfTheCpuAndWriteTheSame) {
  models::EncoderDecoderConfig config;
  config.vocab_size = 20;
  config.d_model = 16;
  config.encoder_layers = config.decoder_layers = 2;
  config.encoder_attention_heads = config.decoder_attention_heads = 2;
  config.encoder_ffn_dim = config.decoder_ffn_dim = 24;
  config.max_source_positions = config.max_target_positions = 16;
  config.init_std = 0.5;
  torch::manual_seed(21);
  models::EncoderDecoder model(config);
  model->eval();
  const at::Tensor source = at::randint(2, 20, {2, 9}, at::TensorOptions().dtype(at::kLong));
  const at::Tensor target = at::randint(2, 20, {2, 7}, at::TensorOptions().dtype(at::kLong));
  const models::SequencePair pair{.input_ids = source, .decoder_input_ids = target};
  generation::GenerationConfig beams;
  beams.num_beams = 3;
  beams.max_length = 10;
  beams.eos_token_id = {5};
  const generation::SearchRequest request{.prompts = {{1}, {1}}, .sources = {{4, 9, 7}, {3, 11, 6}}};
  const at::Tensor sources = at::tensor({4, 9, 7, 3, 11, 6}, at::kLong).view({2, 3});
  const auto written = [&] {
    generation::PairDecoder decoder(model, sources, at::ones_like(sources));
    std::vector<generation::Ids> all;
    for (const auto& texts : generation::search(decoder, request, beams)) {
      all.push_back(texts.front().ids);
    }
    return all;
  };
  const std::vector<generation::Ids> expected = written();
  expect_same_loss(model, [&] { return model->loss(pair, target); }, "encoder-decoder");
  EXPECT_EQ(written(), expected);
}

class TrainsOnCuda : public testing::Test {
 protected:
  TrainsOnCuda() {
    write_text(folder_ / "train.txt", random_text(3000, 1));
    write_text(folder_ / "held_out.txt", random_text(700, 1));
    run_.text.train_text = {(folder_ / "train.txt").string()};
    run_.text.eval_text = {(folder_ / "held_out.txt").string()};
    run_.text.context = 32;
    run_.trainer.batch_size = 4;
    run_.trainer.steps = 6;
    run_.trainer.threads = 1;
    run_.trainer.dtype = "float32";
    run_.trainer.schedule = "constant";  // so that a run may become longer
    model_.hidden_size = 32;
    model_.num_hidden_layers = 2;
    model_.num_attention_heads = 2;
    model_.max_position_embeddings = 32;
    model_.attention = {"window(8) & causal"};
    model_.hidden_dropout_prob = 0.1;
    model_.attention_probs_dropout_prob = 0.1;
  }

  std::vector<double> train(const std::string& name, const std::string& device) {
    run_.trainer.device = device;
    training::train_language_model(folder_ / name, run_, model_, text::make_byte_tokenizer());
    return logged_losses(folder_ / name);
  }

  TemporaryDirectory folder_;
  training::TextRun run_;
  models::TransformerConfig model_;
  attention::DevicesAreGiven given_;
};

TEST_F(TrainsOnCuda, ALanguageModelLearnsAsOnTheCpu) {
  model_.hidden_dropout_prob = 0.0;  // of elements: LibTorch's operators draw them by the generator of the device
  const std::vector<double> expected = train("cpu", "cpu");
  const std::vector<double> found = train("gpu", "cuda:0");
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t step = 0; step < found.size(); ++step) {
    EXPECT_NEAR(found[step], expected[step], 1e-4) << step;
  }
}

TEST_F(TrainsOnCuda, ALanguageModelLearnsInBfloat16AsOnTheCpu) {
  model_.hidden_dropout_prob = 0.0;
  run_.trainer.dtype = "bfloat16";
  const std::vector<double> expected = train("cpu", "cpu");
  const std::vector<double> found = train("gpu", "cuda:0");
  model_.gradient_checkpointing = true;
  EXPECT_EQ(train("recomputed", "cuda:0"), found);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t step = 0; step < found.size(); ++step) {
    EXPECT_NEAR(found[step], expected[step], 2e-2) << step;  // sums of bfloat16 products in other orders
  }
}

TEST_F(TrainsOnCuda, ARunGoesOnToTheLastBit) {
  const std::vector<double> whole = train("whole", "cuda:0");
  run_.trainer.steps = 3;
  train("again", "cuda:0");
  training::resume_language_model(folder_ / "again", {{"steps", 6}});
  EXPECT_EQ(logged_losses(folder_ / "again"), whole);
  EXPECT_TRUE(read_file(folder_ / "again/model.safetensors") == read_file(folder_ / "whole/model.safetensors"));
}

TEST_F(TrainsOnCuda, RecomputedLayersChangeNoLoss) {
  const std::vector<double> expected = train("kept", "cuda:0");
  model_.gradient_checkpointing = true;
  EXPECT_EQ(train("recomputed", "cuda:0"), expected);
}

TEST(PretendedCuda, IsTimedAndItsMemoryCounted) {
  const attention::OpenOn open(kPretended);
  const bench::AttentionCase call{pattern::Pattern::parse("window(16)"), 130, 1, 2, 8};
  EXPECT_LE(bench::check_attention(call, true).max_abs_error, 1e-5);
  const bench::AttentionTimes times =
      bench::time_attention(call, {.backward = true}, {.least_rounds = 1, .most_rounds = 1, .seconds = 0});
  EXPECT_GT(*times.forward_ms, 0);
  EXPECT_GT(*times.workspace_bytes, 0);
  bench::MechanismCalls calls;
  calls.lengths = {64};
  calls.heads = 2;
  calls.head_dim = 8;
  calls.most_bytes = 1 << 30;
  calls.most_seconds = 0.01;
  for (const char* mechanism : {"full", "window(16)", "lsh", "linear", "performer", "nystrom"}) {
    const bench::MechanismReport report = bench::measure_mechanism(mechanism, calls);
    EXPECT_EQ(report.refused, "") << mechanism;
    ASSERT_EQ(report.times.size(), 1U) << mechanism << report.skipped_why;
    EXPECT_GE(report.times[0].forward_bytes, 64 * 2 * 8 * 4) << mechanism;  // its output
  }
}

}  // namespace
}  // namespace weft::test
