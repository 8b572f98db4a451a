// SPDX-License-Identifier: Apache-2.0
// What `input` of a pattern stands for where a call names no positions: what the task has, or nothing, which is said.
#include <gtest/gtest.h>

#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "models/small_encoder.h"
#include "models/small_model.h"
#include "support/expect_error.h"
#include "weft/models/encoder_decoder.h"
#include "weft/models/families/pair_rules.h"

namespace weft::models {
namespace {

using test::small_encoder;
using test::small_encoder_config;
using test::text_ids;

constexpr const char* kPattern = "window(4) | global(input)";

EncoderConfig bert_with_input() {
  EncoderConfig config = small_encoder_config("bert");
  config.attention = {kPattern, kPattern};
  return config;
}

/// What a call computed for "global"; empty where it says nothing of it.
std::string said_of_globals(const std::vector<std::pair<std::string, std::string>>& computed) {
  const auto found =
      std::find_if(computed.begin(), computed.end(), [](const auto& row) { return row.first == "global"; });
  return found == computed.end() ? std::string() : found->second;
}

EncoderDecoder small_pair(const std::string& model_type, const std::string& attention) {
  EncoderDecoderConfig config = pair_rules(model_type).defaults;
  config.vocab_size = 40;
  config.pad_token_id = 1;
  config.eos_token_id = config.decoder_start_token_id = 2;
  config.d_model = 16;
  config.encoder_layers = config.decoder_layers = 1;
  config.encoder_attention_heads = config.decoder_attention_heads = 2;
  config.encoder_ffn_dim = config.decoder_ffn_dim = 24;
  config.max_source_positions = config.max_target_positions = 64;
  config.init_std = 0.3;
  config.dropout = config.attention_dropout = 0.0;
  config.encoder_attention = {attention};
  torch::manual_seed(1234);
  EncoderDecoder model(config);
  model->eval();
  return model;
}

TEST(EncoderGlobals, AreTheFirstTokenOfATextToClassify) {
  EncoderModel model = small_encoder(bert_with_input(), Head::kSequenceClassification);
  EncoderInput input;
  input.input_ids = text_ids(1, 100);
  const at::Tensor before = model->hidden_states(input)[0][99];
  EXPECT_EQ(said_of_globals(model->computed()), "");
  input.input_ids = input.input_ids.clone();
  input.input_ids[0][0] = input.input_ids[0][0].item<std::int64_t>() == 5 ? 6 : 5;
  EXPECT_FALSE(model->hidden_states(input)[0][99].equal(before));
}

TEST(EncoderGlobals, InputOfAPatternIsTheQuestionInEveryFamily) {
  EncoderModel model = small_encoder(bert_with_input(), Head::kQuestionAnswering);
  EncoderInput input;
  input.input_ids = text_ids(1, 100);
  const auto last_row = [&](std::int64_t changed) {
    EncoderInput other = input;
    other.input_ids = input.input_ids.clone();
    other.input_ids[0][3] = changed;
    return model->forward(other).start_logits[0][99];
  };
  EXPECT_TRUE(last_row(5).equal(last_row(6)));  // one text
  input.pair_places = at::tensor({8, 9}, at::kLong).reshape({1, 2});
  EXPECT_FALSE(last_row(5).equal(last_row(6)));
}

TEST(EncoderGlobals, AreNothingForTagsWhichIsSaid) {
  EncoderModel model = small_encoder(bert_with_input(), Head::kTokenClassification);
  EncoderInput input;
  input.input_ids = text_ids(1, 100);
  const at::Tensor without = model->forward(input).logits;
  EXPECT_EQ(said_of_globals(model->computed()), "no position");
  input.global_attention_mask = at::zeros_like(input.input_ids);
  EXPECT_TRUE(model->forward(input).logits.equal(without)) << "the call said none";
  EXPECT_EQ(said_of_globals(model->computed()), "no position");
  EncoderModel plain = small_encoder(small_encoder_config("bert"), Head::kTokenClassification);
  plain->forward(input);
  EXPECT_EQ(said_of_globals(plain->computed()), "");
}

TEST(PairGlobals, AreTheFirstTokenOfASourceInEveryFamily) {
  const at::NoGradGuard without_gradients;
  for (const char* family : {"bart", "pegasus", "marian", "mbart"}) {
    EncoderDecoder model = small_pair(family, kPattern);
    SourceText source{.input_ids = text_ids(1, 60)};
    const auto last = [&](std::int64_t place, std::int64_t token) {
      SourceText other = source;
      other.input_ids = source.input_ids.clone();
      other.input_ids[0][place] = token;
      return model->encoder_states(other)[0][59];
    };
    EXPECT_FALSE(last(0, 5).equal(last(0, 6))) << family;
    EXPECT_TRUE(last(1, 5).equal(last(1, 6))) << family << ": one layer of window(4) reaches 4 tokens";
    EXPECT_EQ(said_of_globals(model->computed()), "the first token of each source") << family;
    source.global_attention_mask = at::zeros_like(source.input_ids);
    EXPECT_TRUE(last(0, 5).equal(last(0, 6))) << family;
    EXPECT_EQ(said_of_globals(model->computed()), "no position") << family;
  }
}

TEST(PairGlobals, BeginBehindPadding) {
  const at::NoGradGuard without_gradients;
  EncoderDecoder model = small_pair("bart", kPattern);
  SourceText source{.input_ids = text_ids(1, 60), .attention_mask = at::ones_like(text_ids(1, 60))};
  source.attention_mask.narrow(1, 0, 3).zero_();
  const auto last = [&](std::int64_t place, std::int64_t token) {
    SourceText other = source;
    other.input_ids = source.input_ids.clone();
    other.input_ids[0][place] = token;
    return model->encoder_states(other)[0][59];
  };
  EXPECT_FALSE(last(3, 5).equal(last(3, 6)));
  EXPECT_TRUE(last(0, 5).equal(last(0, 6)));
}

TEST(PairGlobals, AreNotSaidOfAPatternWithoutInput) {
  const at::NoGradGuard without_gradients;
  EncoderDecoder model = small_pair("led", "full");
  model->encoder_states({.input_ids = text_ids(1, 20)});
  EXPECT_EQ(said_of_globals(model->computed()), "");
}

TEST(LanguageModelGlobals, MustBeNamed) {
  TransformerConfig config = test::small_config();
  config.attention = {"causal & window(4) | causal & global(input)"};
  LanguageModel model = test::make_model(config);
  ModelInput input = test::input_of(test::random_ids(1, 8));
  test::expect_error(ErrorKind::kArgument, {"`input`", "global_positions"}, [&] { model->logits(input); });
  layers::DecodingState state = model->initial_state();
  test::expect_error(ErrorKind::kUnsupported, {"`input`"}, [&] { model->decode(input.input_ids, state); });
  input.global_positions = {{}};  // none of this row
  EXPECT_NO_THROW(model->logits(input));
}

}  // namespace
}  // namespace weft::models
