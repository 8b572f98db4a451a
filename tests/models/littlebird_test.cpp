// SPDX-License-Identifier: Apache-2.0
// Latents beside the text of any model: what reaches a token, models of Weft's own, what is refused. Equations are in
// tests/layers/little_bird_test.cpp; what holds for every family in encoder_model_test.cpp.
#include <gtest/gtest.h>

#include <ATen/ops/ones.h>
#include <c10/core/GradMode.h>

#include <string>

#include "models/small_encoder.h"
#include "models/small_model.h"
#include "support/expect_error.h"
#include "support/torch_fixture.h"

namespace weft::models {
namespace {

using test::small_encoder;
using test::small_encoder_config;

EncoderConfig one_layer() {
  EncoderConfig config = small_encoder_config("littlebird");
  config.num_hidden_layers = 1;
  config.attention = {};
  return config;
}

// Blocks of 4: token 40 lies outside of the window of token 10, and only the latents know it.
TEST(LittleBirdEncoder, LatentsCarryFarTokensInOneLayer) {
  EncoderModel model = small_encoder(one_layer(), Head::kNone);
  const at::NoGradGuard without_gradients;
  EncoderInput input;
  input.input_ids = test::text_ids(1, 60);
  const at::Tensor before = model->forward(input).last_hidden_state[0][10];
  input.input_ids[0][40] = input.input_ids[0][40].item<std::int64_t>() == 5 ? 6 : 5;
  EXPECT_GT(test::largest_difference(before, model->forward(input).last_hidden_state[0][10]), 1e-6);
  EncoderOptions options;
  options.attention = "block(4, window(3) | global(1))";
  EncoderModel windowed = small_encoder(one_layer(), Head::kNone, options);
  const at::Tensor near = windowed->forward(input).last_hidden_state[0][10];
  input.input_ids[0][40] = 7;
  EXPECT_TRUE(near.equal(windowed->forward(input).last_hidden_state[0][10]));
}

TEST(LittleBirdEncoder, SaysWhatItComputes) {
  EXPECT_EQ(small_encoder(small_encoder_config("littlebird"), Head::kNone)->computed().front(),
            (std::pair<std::string, std::string>{"attention", "little_bird(block=4, latents=4)"}));
  const EncoderModel model = small_encoder(small_encoder_config("littlebird"), Head::kMaskedLanguageModel);
  const auto parameters = model->named_parameters();
  EXPECT_EQ(parameters["encoder.latents"].sizes(), (at::IntArrayRef{4, 16}));
  EXPECT_FALSE(parameters.contains("encoder.embeddings.positions"));
  EXPECT_TRUE(parameters.contains("encoder.layers.1.attention.mechanism.gamma"));
}

// A mechanism is the same in every family that learns no positions.
TEST(LittleBirdEncoder, IsABertWithItsMechanism) {
  EncoderConfig bert = small_encoder_config("bert");
  bert.position_embedding_type = "none";
  bert.attention = {"little_bird(block=4, latents=4)"};
  EncoderModel made = small_encoder(bert, Head::kMaskedLanguageModel);
  EncoderModel own = small_encoder(small_encoder_config("littlebird"), Head::kMaskedLanguageModel);
  EncoderInput input;
  input.input_ids = test::text_ids(2, 37);
  EXPECT_TRUE(made->forward(input).logits.equal(own->forward(input).logits));
}

TransformerConfig own_config(const char* norm) {
  TransformerConfig config = test::small_config();
  config.is_decoder = false;
  config.position_embedding = "none";
  config.norm_position = norm;
  config.attention = {"little_bird(block=4, latents=3)"};
  return config;
}

TEST(LittleBirdModels, OfWeftsOwnLearnWithBothOrdersOfNorms) {
  for (const char* norm : {"pre", "post"}) {
    LanguageModel model = test::make_model(own_config(norm));
    const at::Tensor ids = test::random_ids(2, 50);
    model->loss(test::input_of(ids), ids).backward();
    for (const auto& parameter : model->named_parameters()) {
      EXPECT_TRUE(parameter.value().grad().defined()) << norm << " " << parameter.key();
    }
    EXPECT_GT(model->named_parameters()["latents"].grad().abs().max().item<double>(), 0.0);
  }
}

TEST(LittleBirdModels, RefuseWhatHasNoPlaceForLatents) {
  const auto refuse = [](std::initializer_list<std::string_view> words, const auto& change) {
    TransformerConfig config = own_config("pre");
    change(config);
    test::expect_error(ErrorKind::kArgument, words, [&] { validate(config, "here"); });
  };
  refuse({"here", "attention of layer 1", "5 latents", "layer 0 has 3"},
         [](auto& config) { config.attention = {"little_bird(latents=3)", "little_bird(latents=5)"}; });
  refuse({"attention of layer 1", "0 latents"},
         [](auto& config) { config.attention = {"little_bird(latents=3)", "full"}; });
  refuse({"decoder", "later tokens"}, [](auto& config) { config.is_decoder = true; });
  refuse({"latents", "reversible"}, [](auto& config) { config.residual = "reversible"; });
  refuse({"knows positions by itself"}, [](auto& config) { config.position_embedding = "rotary"; });
}

TEST(LittleBirdModels, NeedNoTableOfPositions) {
  EncoderConfig config = small_encoder_config("littlebird");
  config.position_embedding_type = "absolute";
  test::expect_error(ErrorKind::kArgument, {"little_bird", "knows positions by itself", "position_embedding_type none"},
                     [&] { small_encoder(config, Head::kNone); });
  EncoderConfig roberta = small_encoder_config("roberta");
  roberta.attention = {"little_bird"};
  test::expect_error(ErrorKind::kArgument, {"knows positions by itself", "bert, littlebird and etc"},
                     [&] { small_encoder(roberta, Head::kNone); });
  roberta.position_embedding_type = "none";
  test::expect_error(ErrorKind::kArgument, {"bert, littlebird and etc", "roberta"}, [&] { validate(roberta, "here"); });
}

}  // namespace
}  // namespace weft::models
