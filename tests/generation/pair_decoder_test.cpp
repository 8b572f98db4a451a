// SPDX-License-Identifier: Apache-2.0
// An encoder-decoder through every search: sources of unequal length, beams that change places, texts that leave.
#include <gtest/gtest.h>

#include <ATen/autocast_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <torch/utils.h>

#include "weft/generation/pair_decoder.h"
#include "weft/generation/search/search.h"

namespace weft::generation {
namespace {

models::EncoderDecoder small_pair() {
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
  return model;
}

struct Sources {
  at::Tensor ids = at::tensor({4, 9, 7, 3, 11, 6, 5, 8, 2, 0, 0, 0}, at::kLong).view({2, 6});
  at::Tensor mask = at::tensor({1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0}, at::kLong).view({2, 6});
};

/// The logits of the whole target, without a cache.
class WithoutCache final : public Decoder {
 public:
  WithoutCache(models::EncoderDecoder model, const Sources& sources) : model_(std::move(model)), sources_(sources) {}
  layers::DecodingState initial_state() override { return layers::DecodingState({}); }
  at::Tensor step(const at::Tensor& tokens, layers::DecodingState& state) override {
    state.advance(tokens.size(1));
    target_ = target_.defined() ? at::cat({target_, tokens}, 1) : tokens;
    const at::Tensor logits =
        model_->logits({.input_ids = sources_.ids, .decoder_input_ids = target_, .attention_mask = sources_.mask});
    return logits.select(1, target_.size(1) - 1);
  }
  void reorder(layers::DecodingState&, const at::Tensor& rows) override {
    target_ = target_.index_select(0, rows);
    sources_ = {sources_.ids.index_select(0, rows), sources_.mask.index_select(0, rows)};
  }
  std::optional<std::int64_t> longest() const override { return 16; }

 private:
  models::EncoderDecoder model_;
  Sources sources_;
  at::Tensor target_;
};

TEST(PairDecoder, SearchesAsWithoutACache) {
  const models::EncoderDecoder model = small_pair();
  const Sources sources;
  GenerationConfig config;
  config.eos_token_id = {5, 7};
  config.max_length = 12;
  config.no_repeat_ngram_size = 2;
  for (const std::int64_t width : {1, 4}) {
    for (const bool sampled : {false, true}) {
      config.num_beams = width;
      config.do_sample = sampled;
      config.num_return_sequences = sampled || width > 1 ? 3 : 1;
      const SearchRequest request{.prompts = {{1}, {1}}, .sources = {{4, 9, 7, 3, 11, 6}, {5, 8, 2}}, .scores = true};
      PairDecoder cached(model, sources.ids, sources.mask);
      WithoutCache whole(model, sources);
      const auto found = search(cached, request, config);
      const auto expected = search(whole, request, config);
      for (std::size_t item = 0; item < 2; ++item) {
        ASSERT_EQ(found[item].size(), expected[item].size());
        for (std::size_t text = 0; text < found[item].size(); ++text) {
          EXPECT_EQ(found[item][text].ids, expected[item][text].ids) << width << sampled;
          EXPECT_NEAR(found[item][text].score, expected[item][text].score, 1e-4);
        }
      }
    }
  }
}

TEST(PairDecoder, GivesTheModelItsModeBack) {
  models::EncoderDecoder model = small_pair();
  model->train();
  {
    PairDecoder decoder(model, Sources().ids);
    EXPECT_FALSE(model->is_training());
    EXPECT_EQ(decoder.longest(), 16);
  }
  EXPECT_TRUE(model->is_training());
}

/// How many refer weakly to the numbers of all parameters: a form that is kept knows what it was made of.
std::int64_t forms_of(const models::EncoderDecoder& model) {
  std::int64_t sum = 0;
  for (const at::Tensor& parameter : model->parameters()) {
    sum += static_cast<std::int64_t>(parameter.storage().getWeakStorageImpl().weak_use_count());
  }
  return sum;
}

// Texts are written for an evaluation, in bfloat16, and training goes on.
TEST(PairDecoder, WhatIsKeptOfWeightsIsFreedWhereTrainingGoesOn) {
  models::EncoderDecoder model = small_pair();
  for (const bool was_training : {false, true}) {
    model->train(was_training);
    const std::int64_t before = forms_of(model);
    std::int64_t writing = 0;
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    {
      const Sources sources;
      PairDecoder decoder(model, sources.ids, sources.mask, {});
      layers::DecodingState state = decoder.initial_state();
      decoder.step(at::tensor({2, 2}, at::kLong).view({2, 1}), state);
      writing = forms_of(model);
    }
    at::autocast::set_autocast_enabled(at::kCPU, false);
    EXPECT_GT(writing, before + 10) << "linear layers of two blocks, and the head";
    EXPECT_EQ(forms_of(model), was_training ? before : writing) << "the next text needs them";
    model->train();
    EXPECT_EQ(forms_of(model), before) << was_training;
  }
}

}  // namespace
}  // namespace weft::generation
