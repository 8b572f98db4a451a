// SPDX-License-Identifier: Apache-2.0
// The generation loop: seeds, cache, streaming, ends, errors.
#include <gtest/gtest.h>

#include <ATen/ops/one_hot.h>
#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>

#include <csignal>

#include "models/small_model.h"
#include "support/cleared_interrupt.h"
#include "support/expect_error.h"
#include "weft/core/interrupt.h"
#include "weft/generation/generate.h"
#include "weft/generation/search/draw.h"

namespace weft::generation {
namespace {

const Ids kPrompt = {72, 101, 108, 108, 111};

GenerationConfig sampling(std::int64_t tokens, std::int64_t seed = 7) {
  GenerationConfig config;
  config.do_sample = true;
  config.top_k = 0;
  config.max_new_tokens = tokens;
  config.seed = seed;
  return config;
}

models::LanguageModel model_with(const std::string& attention, const std::string& position = "rotary") {
  models::TransformerConfig config = test::small_config();
  config.attention = {attention};
  config.position_embedding = position;
  return test::make_model(config);
}

/// The same text from forward passes over everything, without a cache.
Ids without_cache(models::LanguageModel model, const GenerationConfig& config) {
  const at::NoGradGuard without_gradients;
  Ids all = kPrompt;
  Ids made;
  for (std::int64_t step = 0; step < config.max_new_tokens; ++step) {
    const at::Tensor ids = at::tensor(all, at::kLong).unsqueeze(0);
    const at::Tensor logits = model->logits(test::input_of(ids))[0][static_cast<std::int64_t>(all.size()) - 1];
    const std::span<const float> scores(logits.const_data_ptr<float>(), static_cast<std::size_t>(logits.numel()));
    made.push_back(draws(config) ? draw(scores, {config.seed, step, 0}) : likeliest(scores));
    all.push_back(made.back());
  }
  return made;
}

TEST(Generate, EqualsGenerationWithoutACache) {
  for (const std::string attention : {"full", "strided(6)", "window(8) | global(1)", "linear"}) {
    const models::LanguageModel model = model_with(attention);
    EXPECT_EQ(generate(model, kPrompt, sampling(40)).ids, without_cache(model, sampling(40))) << attention;
    GenerationConfig greedy = sampling(20);
    greedy.temperature = 0.0;
    EXPECT_EQ(generate(model, kPrompt, greedy).ids, without_cache(model, greedy)) << attention;
  }
}

TEST(Generate, ASeedIsAText) {
  const models::LanguageModel model = model_with("full");
  const GenerationResult first = generate(model, kPrompt, sampling(30));
  EXPECT_EQ(first.ids, generate(model, kPrompt, sampling(30)).ids);
  EXPECT_NE(first.ids, generate(model, kPrompt, sampling(30, 8)).ids);
  EXPECT_EQ(first.ids.size(), 30U);
  EXPECT_EQ(first.reason, FinishReason::kLength);
  // a longer text begins with the shorter one
  Ids longer = generate(model, kPrompt, sampling(35)).ids;
  longer.resize(30);
  EXPECT_EQ(longer, first.ids);
}

TEST(Generate, DoesNotTouchModeOrGlobalRandomState) {
  models::LanguageModel model = model_with("full");
  model->train();
  torch::manual_seed(3);
  const at::Tensor expected = test::random_ids(1, 4);
  torch::manual_seed(3);
  generate(model, kPrompt, sampling(3));
  EXPECT_TRUE(test::random_ids(1, 4).equal(expected));
  EXPECT_TRUE(model->is_training());
}

// Scores of its own and no model: the next token is the number of tokens so far.
class Counting final : public Decoder {
 public:
  layers::DecodingState initial_state() override { return layers::DecodingState({}); }
  at::Tensor step(const at::Tensor& tokens, layers::DecodingState& state) override {
    state.advance(tokens.size(1));
    return at::one_hot(at::tensor({state.length()}, at::kLong), 100).to(at::kFloat);
  }
  std::optional<std::int64_t> longest() const override { return 50; }
};

TEST(Generate, NeedsAStateAndAStepOnly) {
  Counting decoder;
  GenerationConfig greedy = sampling(4);
  greedy.temperature = 0.0;
  EXPECT_EQ(generate(decoder, kPrompt, greedy).ids, (Ids{5, 6, 7, 8}));
  test::expect_error(ErrorKind::kArgument, {"max_new_tokens = 47", "50"},
                     [&] { generate(decoder, kPrompt, sampling(47)); });
}

TEST(Generate, StreamsAndStops) {
  const models::LanguageModel model = model_with("full");
  const Ids all = generate(model, kPrompt, sampling(20)).ids;
  Ids seen;
  const auto three = [&](std::int64_t id) {
    seen.push_back(id);
    return seen.size() < 3;
  };
  const GenerationResult cut = generate(model, kPrompt, sampling(20), three);
  EXPECT_EQ(cut.reason, FinishReason::kCallback);
  EXPECT_EQ(cut.ids, seen);
  EXPECT_EQ(seen, Ids(all.begin(), all.begin() + 3));
  GenerationConfig stopping = sampling(20);
  stopping.eos_token_id = {all[4]};
  const GenerationResult stopped = generate(model, kPrompt, stopping);
  EXPECT_EQ(stopped.reason, FinishReason::kStopToken);
  EXPECT_EQ(stopped.ids.back(), all[4]);
  EXPECT_TRUE(generate(model, kPrompt, sampling(0)).ids.empty());
}

TEST(Generate, ASignalEndsIt) {
  const test::ClearedInterrupt cleared;
  const InterruptGuard guard;
  const auto raise_at_two = [count = 0](std::int64_t) mutable {
    if (++count == 2) {
      std::raise(SIGTERM);
    }
    return true;
  };
  const GenerationResult result = generate(model_with("full"), kPrompt, sampling(20), raise_at_two);
  EXPECT_EQ(result.reason, FinishReason::kInterrupted);
  EXPECT_EQ(result.ids.size(), 2U);
}

TEST(Generate, RefusesWhatCannotWork) {
  const models::LanguageModel model = model_with("full");
  test::expect_error(ErrorKind::kArgument, {"prompt is empty"}, [&] { generate(model, {}, sampling(3)); });
  test::expect_error(ErrorKind::kArgument, {"256"}, [&] { generate(model, {256}, sampling(3)); });
  GenerationConfig wrong = sampling(3);
  wrong.top_p = 1.5;
  test::expect_error(ErrorKind::kArgument, {"top_p", "1.5"}, [&] { generate(model, kPrompt, wrong); });
  const models::LanguageModel learned = model_with("full", "learned");
  EXPECT_EQ(generate(learned, kPrompt, sampling(60)).ids.size(), 60U);  // 64 positions: the last token needs none
  test::expect_error(ErrorKind::kArgument, {"max_new_tokens = 61", "64"},
                     [&] { generate(learned, kPrompt, sampling(61)); });
  models::TransformerConfig encoder = test::small_config();
  encoder.is_decoder = false;
  test::expect_error(ErrorKind::kUnsupported, {"is_decoder"},
                     [&] { generate(test::make_model(encoder), kPrompt, sampling(1)); });
}

}  // namespace
}  // namespace weft::generation
