// SPDX-License-Identifier: Apache-2.0
// A model of the family etc against the encoder of layers/etc, whose tests hold it against the equations; sentences by
// rule and given ones; what is refused. What holds for every family is in encoder_model_test.cpp.
#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <memory>
#include <string>
#include <utility>

#include "models/small_encoder.h"
#include "models/small_model.h"
#include "support/expect_error.h"
#include "support/layers/etc_encoder.h"
#include "support/torch_fixture.h"
#include "weft/attention/mechanisms/etc/etc_structure.h"
#include "weft/layers/etc/etc_companions.h"
#include "weft/models/encoder/batch.h"
#include "weft/models/families/etc/config.h"

namespace weft::models {
namespace {

using test::small_encoder;
using test::small_encoder_config;
using test::text_ids;

EncoderModel exact_model(const EncoderConfig& config) {
  EncoderModel model(config, Head::kNone, EncoderOptions{}, at::TensorOptions(at::kDouble));
  initialize(*model, 7);
  model->eval();
  return model;
}

/// The name in EncoderModel of a parameter of EtcEncoder.
std::string name_in_model(std::string name) {
  for (const auto& [own, other] : {std::pair<std::string, std::string>{"query_key_value", "qkv"},
                                   {"attention.labels", "attention.mechanism.labels"},
                                   {"attention.label_bias", "attention.mechanism.label_bias"},
                                   {"attention.global_label", "attention.mechanism.global_label"},
                                   {"global_tokens", "globals.tokens"},
                                   {"global_norm.", "globals.norm."}}) {
    if (const std::size_t at = name.find(own); at != std::string::npos) {
      return "encoder." + name.replace(at, own.size(), other);
    }
  }
  const bool in_embeddings = name == "tokens" || name.starts_with("norm.");
  return (in_embeddings ? "encoder.embeddings." : "encoder.") + name;
}

/// The encoder of the equations with the numbers of `model`: both inputs have one table of segments there, whose row 1
/// is that of a text and whose row 0 is that of global tokens.
testing::EtcEncoder reference_of(const EncoderModel& model) {
  const EncoderConfig& config = model->config();
  const auto& own = config.own.get<EtcFields>();
  testing::EtcConfig etc;
  etc.vocab_size = config.vocab_size;
  etc.global_vocab_size = own.global_vocab_size;
  etc.segment_types = 2;
  etc.layers = config.num_hidden_layers;
  etc.intermediate_size = config.intermediate_size;
  etc.dropout = 0.0;
  etc.attention.hidden_size = config.hidden_size;
  etc.attention.heads = config.num_attention_heads;
  etc.attention.head_dim = config.hidden_size / config.num_attention_heads;
  etc.attention.radius = own.local_radius;
  etc.attention.max_distance = own.relative_pos_max_distance;
  etc.attention.hard_global_to_long = own.hard_edges == "g2l" || own.hard_edges == "both";
  etc.attention.hard_long_to_global = own.hard_edges == "l2g" || own.hard_edges == "both";
  etc.attention.dropout = 0.0;
  testing::EtcEncoder reference(etc, at::TensorOptions(at::kDouble));
  const at::NoGradGuard without_gradients;
  const auto numbers = model->named_parameters();
  for (auto& parameter : reference->named_parameters()) {
    parameter.value().copy_(parameter.key() == "segments" ? at::stack({numbers["encoder.globals.token_types"][0],
                                                                       numbers["encoder.embeddings.token_types"][0]})
                                                          : numbers[name_in_model(parameter.key())]);
  }
  reference->eval();
  return reference;
}

/// Two texts, the second one shorter; sentences end behind the ids 5 and 9.
EncoderInput two_texts() {
  EncoderInput input;
  input.input_ids = text_ids(2, 41);
  input.input_ids[0][7] = 5;
  input.input_ids[0][8] = 9;
  input.input_ids[0][30] = 5;
  input.input_ids[1][12] = 9;
  input.attention_mask = at::ones_like(input.input_ids);
  input.attention_mask[1].narrow(0, 29, 12).fill_(0);
  return input;
}

double gap(const at::Tensor& found, const at::Tensor& expected) {
  return (found - expected).abs().max().item<double>();
}

TEST(EtcModel, IsTheEncoderOfTheEquations) {
  for (const char* hard : {"none", "g2l", "l2g", "both"}) {
    EncoderConfig config = small_encoder_config("etc");
    config.own.get<EtcFields>().hard_edges = hard;
    EncoderModel model = exact_model(config);
    testing::EtcEncoder reference = reference_of(model);
    const EncoderInput input = two_texts();
    const at::Tensor keep = input.attention_mask.ne(0);
    const layers::TextStructure text =
        layers::text_structure(input.input_ids, keep, {.ends = config.own.get<EtcFields>().sentence_end_ids});
    testing::EtcInput same;
    same.ids = input.input_ids;
    same.global_ids = text.global_ids;
    same.structure = text.structure;
    const at::Tensor rows = keep.unsqueeze(-1).to(at::kDouble);
    const at::Tensor globals = text.structure.global_keep.unsqueeze(-1).to(at::kDouble);
    ASSERT_GT(text.global_ids.size(1), 3);
    const EncoderOutput found = model->forward(input);
    const testing::GlobalLocalRows expected = reference->forward(same);
    EXPECT_LT(gap(found.last_hidden_state * rows, expected.tokens * rows), 1e-10) << hard;
    EXPECT_LT(gap(found.companion_hidden_state * globals, expected.globals * globals), 1e-10) << hard;
    const at::Tensor along = at::randn(found.last_hidden_state.sizes(), at::kDouble) * rows;
    const at::Tensor along_globals = at::randn(found.companion_hidden_state.sizes(), at::kDouble) * globals;
    ((found.last_hidden_state * along).sum() + (found.companion_hidden_state * along_globals).sum()).backward();
    ((expected.tokens * along).sum() + (expected.globals * along_globals).sum()).backward();
    for (const auto& parameter : reference->named_parameters()) {
      if (parameter.key() != "segments") {
        const at::Tensor gradient = model->named_parameters()[name_in_model(parameter.key())].grad();
        ASSERT_TRUE(gradient.defined()) << parameter.key();
        EXPECT_LT(gap(gradient, parameter.value().grad()), 1e-8) << hard << " " << parameter.key();
      }
    }
  }
}

TEST(EtcModel, AGivenStructureIsThatOfTheRule) {
  const EncoderConfig config = small_encoder_config("etc");
  EncoderModel model = exact_model(config);
  EncoderInput input = two_texts();
  const EncoderOutput by_rule = model->forward(input);
  const layers::TextStructure text = layers::text_structure(input.input_ids, input.attention_mask.ne(0),
                                                            {.ends = config.own.get<EtcFields>().sentence_end_ids});
  input.companions.input_ids = text.global_ids;
  input.companions.mask = text.structure.global_keep.to(at::kLong);
  input.companions.sentence = text.structure.sentence;
  const EncoderOutput given = model->forward(input);
  EXPECT_TRUE(given.last_hidden_state.equal(by_rule.last_hidden_state));
  EXPECT_TRUE(given.companion_hidden_state.equal(by_rule.companion_hidden_state));
}

// Every tensor that may be given reaches the attention: each alone changes what is computed.
TEST(EtcModel, EveryGivenTensorCounts) {
  EncoderConfig config = small_encoder_config("etc");
  config.own.get<EtcFields>().hard_edges = "both";
  EncoderModel model = exact_model(config);
  EncoderInput input = two_texts();
  input.attention_mask = at::Tensor();
  input.companions.input_ids = at::tensor({1, 3, 5, 1, 1, 4}, at::kLong).reshape({2, 3});
  const at::Tensor third = at::arange(41).remainder(3).unsqueeze(0).expand({2, 41}).contiguous();
  const at::Tensor half = at::arange(41).floor_divide(20).unsqueeze(0).expand({2, 41}).contiguous();
  const at::Tensor of_globals = at::tensor({0, 1, 1, 0, 0, 1}, at::kLong).reshape({2, 3});
  const at::Tensor alone = model->forward(input).last_hidden_state;
  input.companions.sentence = third;
  const at::Tensor before = model->forward(input).last_hidden_state;
  EXPECT_GT(gap(alone, before), 1e-6);
  const auto changes = [&](const char* name, at::Tensor CompanionTokens::* member, const at::Tensor& value) {
    EncoderInput other = input;
    other.companions.*member = value;
    EXPECT_GT(gap(model->forward(other).last_hidden_state, before), 1e-6) << name;
  };
  changes("token_type_ids", &CompanionTokens::token_type_ids, of_globals);
  changes("paragraph", &CompanionTokens::paragraph, half);
  changes("linked", &CompanionTokens::linked, half);
  changes("segment", &CompanionTokens::segment, half);
  changes("global_segment", &CompanionTokens::global_segment, of_globals);
  changes("sees_all", &CompanionTokens::sees_all, of_globals);
  changes("mask", &CompanionTokens::mask, of_globals);
}

// A full stop that is hidden still ends its sentence, where the call says what stood there.
TEST(EtcModel, MasksHideNoSentenceEnd) {
  const EncoderConfig config = small_encoder_config("etc");
  EncoderModel model = exact_model(config);
  EncoderInput input;
  input.input_ids = two_texts().input_ids.narrow(0, 0, 1).clone();
  EncoderInput masked;
  masked.input_ids = at::where(input.input_ids.eq(5), at::full_like(input.input_ids, 39), input.input_ids);
  ASSERT_FALSE(masked.input_ids.equal(input.input_ids));
  const std::int64_t sentences = model->forward(input).companion_hidden_state.size(1);
  EXPECT_LT(model->forward(masked).companion_hidden_state.size(1), sentences);
  masked.unmasked_ids = input.input_ids;
  EXPECT_EQ(model->forward(masked).companion_hidden_state.size(1), sentences);
}

// Token 40 lies outside of the window of token 10, and only global tokens know it.
TEST(EtcModel, GlobalTokensCarryFarTokens) {
  EncoderModel model = small_encoder(small_encoder_config("etc"), Head::kNone);
  const at::NoGradGuard without_gradients;
  EncoderInput input;
  input.input_ids = text_ids(1, 60);
  const at::Tensor before = model->forward(input).last_hidden_state[0][10];
  input.input_ids[0][40] = input.input_ids[0][40].item<std::int64_t>() == 7 ? 8 : 7;
  EXPECT_GT(test::largest_difference(before, model->forward(input).last_hidden_state[0][10]), 1e-6);
}

TEST(EtcModel, BeginsAsPublished) {
  EncoderConfig config = small_encoder_config("etc");
  config.hidden_size = 128;
  const EncoderModel model = make_encoder(config, Head::kMaskedLanguageModel, 3);
  const auto numbers = model->named_parameters();
  EXPECT_NEAR(numbers["encoder.layers.1.attention.mechanism.labels"].std().item<double>(), 0.5, 0.05);
  EXPECT_EQ(numbers["encoder.layers.1.attention.mechanism.label_bias"].abs().max().item<double>(), 0.0);
  EXPECT_NEAR(numbers["encoder.globals.tokens"].std().item<double>(), 0.3, 0.05);
  EXPECT_GT(numbers["encoder.globals.tokens"][0].abs().max().item<double>(), 0.0);
  EXPECT_EQ(numbers["encoder.layers.0.global_attention_norm.weight"].min().item<double>(), 1.0);
  EXPECT_EQ(model->computed().front(),
            (std::pair<std::string, std::string>{"attention", "global_local(radius=4, distance=3, hard=none)"}));
}

TEST(EtcModel, ChoicesAreRowsOfTheirOwn) {
  EncoderModel model = small_encoder(small_encoder_config("etc"), Head::kMultipleChoice);
  EncoderInput input;
  input.input_ids = text_ids(2, 30).unsqueeze(0);
  const at::Tensor by_rule = model->forward(input).logits;
  EXPECT_EQ(by_rule.sizes(), (at::IntArrayRef{1, 2}));
  const layers::TextStructure text = layers::text_structure(input.input_ids[0], {}, {.ends = {5, 9}});
  input.companions.input_ids = text.global_ids.unsqueeze(0);
  input.companions.mask = text.structure.global_keep.unsqueeze(0);
  input.companions.sentence = text.structure.sentence.unsqueeze(0);
  EXPECT_TRUE(model->forward(input).logits.equal(by_rule));
}

TEST(EtcModel, RefusesWhatDoesNotFit) {
  EncoderModel model = small_encoder(small_encoder_config("etc"), Head::kNone);
  const auto refuse = [&](std::initializer_list<std::string_view> words, const auto& change) {
    EncoderInput input = two_texts();
    input.companions.input_ids = at::tensor({1, 1, 1, 1}, at::kLong).reshape({2, 2});
    change(input);
    test::expect_error(ErrorKind::kArgument, words, [&] { model->forward(input); });
  };
  refuse({"global_input_ids holds 8", "global_vocab_size = 8"},
         [](auto& input) { input.companions.input_ids[0][1] = 8; });
  refuse({"global_input_ids", "rows of input_ids"},
         [](auto& input) { input.companions.input_ids = input.companions.input_ids.narrow(0, 0, 1); });
  refuse({"sentence_ids", "the 2 global tokens", "0 to 2"}, [](auto& input) {
    input.companions.sentence = at::zeros_like(input.input_ids).index_fill(1, at::tensor({3}, at::kLong), 2);
  });
  refuse({"segment_ids", "[2, 41]", "[2, 40]"},
         [](auto& input) { input.companions.segment = at::zeros({2, 40}, at::kLong); });
  refuse({"sees_all", "whole numbers"}, [](auto& input) { input.companions.sees_all = at::zeros({2, 2}); });
  refuse({"linked_ids", "expected global_input_ids"}, [](auto& input) {
    input.companions.linked = at::zeros_like(input.input_ids);
    input.companions.input_ids = at::Tensor();
  });
  EncoderModel bert = small_encoder(small_encoder_config("bert"), Head::kNone);
  test::expect_error(ErrorKind::kArgument, {"global_input_ids", "bert"}, [&] {
    EncoderInput input = two_texts();
    input.companions.input_ids = at::zeros({2, 1}, at::kLong);
    bert->forward(input);
  });
}

TEST(EtcModel, NobodyElseHasItsAttentionAndItHasNoOther) {
  EncoderConfig bert = small_encoder_config("bert");
  bert.position_embedding_type = "none";
  bert.attention = {"global_local"};
  test::expect_error(ErrorKind::kArgument, {"attention of layer 0", "global tokens", "has not"},
                     [&] { small_encoder(bert, Head::kNone); });
  EncoderConfig etc = small_encoder_config("etc");
  etc.attention = {"window(8)"};
  test::expect_error(ErrorKind::kArgument, {"`window(8)`", "no global tokens"},
                     [&] { small_encoder(etc, Head::kNone); });
  TransformerConfig own = test::small_config();
  own.is_decoder = false;
  own.position_embedding = "none";
  own.attention = {"global_local"};
  test::expect_error(ErrorKind::kArgument, {"global tokens", "has not"}, [&] { validate(own, "here"); });
}

// Rows that are computed in parts, or with more columns, take their structure along.
TEST(EncoderBatches, PartsAndPaddingKeepTheStructure) {
  const EncoderConfig config = small_encoder_config("etc");
  const EncoderBatch batch = make_batch(config, Head::kNone, two_texts(), at::kCPU);
  const BatchParts parts = split_by_length(batch, 30, false);
  ASSERT_EQ(parts.parts.size(), 2U);
  const auto of = [](const EncoderBatch& each) -> const layers::EtcCompanions& {
    return dynamic_cast<const layers::EtcCompanions&>(*each.companions);
  };
  const attention::EtcStructure& structure = *of(batch).structure;
  EXPECT_TRUE(of(parts.parts[0]).structure->sentence.equal(structure.sentence.narrow(0, 1, 1)));
  EXPECT_TRUE(of(parts.parts[1]).ids.equal(of(batch).ids.narrow(0, 0, 1)));
  const EncoderBatch wider = pad_columns(batch, 8, 0);
  const attention::EtcStructure& padded = *of(wider).structure;
  EXPECT_EQ(padded.sentence.sizes(), (at::IntArrayRef{2, 48}));
  EXPECT_TRUE(padded.sentence.narrow(1, 41, 7).eq(-1).all().item<bool>());
  EXPECT_TRUE(padded.global_keep.equal(structure.global_keep));
}

}  // namespace
}  // namespace weft::models
