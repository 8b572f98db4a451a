// SPDX-License-Identifier: Apache-2.0
// Every rule of a model's config, alone and between fields.
#include <gtest/gtest.h>

#include <functional>

#include "models/small_model.h"
#include "support/expect_error.h"

namespace weft::models {
namespace {

void expect_refused(std::initializer_list<std::string_view> words, const std::function<void(TransformerConfig&)>& spoil,
                    ErrorKind kind = ErrorKind::kArgument) {
  TransformerConfig config = test::small_config();
  spoil(config);
  const std::string message = test::expect_error(kind, words, [&] { validate(config, "some/config.json"); });
  EXPECT_TRUE(message.starts_with("some/config.json: ")) << message;
}

TEST(TransformerConfig, TheDefaultsAreValid) {
  EXPECT_NO_THROW(validate(TransformerConfig{}, "defaults"));
  EXPECT_NO_THROW(validate(test::small_config(), "small"));
}

TEST(TransformerConfig, FieldsHaveRanges) {
  expect_refused({"num_attention_heads", "at least 1", "0"}, [](auto& c) { c.num_attention_heads = 0; });
  expect_refused({"num_hidden_layers", "at most", "2147483648"},
                 [](auto& c) { c.num_hidden_layers = std::int64_t{1} << 31; });
  expect_refused({"num_hidden_layers", "at least 1"}, [](auto& c) { c.num_hidden_layers = 0; });
  expect_refused({"hidden_size"}, [](auto& c) { c.hidden_size = -16; });
  expect_refused({"vocab_size"}, [](auto& c) { c.vocab_size = std::int64_t{1} << 62; });
  expect_refused({"max_position_embeddings"}, [](auto& c) { c.max_position_embeddings = 0; });
  expect_refused({"hidden_dropout_prob"}, [](auto& c) { c.hidden_dropout_prob = 1.0; });
  expect_refused({"hidden_dropout_prob"}, [](auto& c) { c.hidden_dropout_prob = std::nan(""); });
  expect_refused({"layer_norm_eps"}, [](auto& c) { c.layer_norm_eps = 0.0; });
  expect_refused({"rope_theta"}, [](auto& c) { c.rope_theta = 0.0; });
  expect_refused({"loss_chunk_size"}, [](auto& c) { c.loss_chunk_size = -1; });
}

TEST(TransformerConfig, NamesAreAmongTheKnown) {
  expect_refused({"position_embedding", "rotary, learned, axial, picture, stride, sinusoidal, alibi, none", "'all'"},
                 [](auto& c) { c.position_embedding = "all"; });
  expect_refused({"norm_position", "'mid'"}, [](auto& c) { c.norm_position = "mid"; });
  expect_refused({"hidden_act", "swiglu", "'tanh'"}, [](auto& c) { c.hidden_act = "tanh"; });
  expect_refused({"tokenizer_class"}, [](auto& c) { c.tokenizer_class = "words"; });
}

TEST(TransformerConfig, FieldsFitEachOther) {
  expect_refused({"learned_slopes", "alibi", "rotary"}, [](auto& c) { c.learned_slopes = true; });
  expect_refused({"position_stride", "rotary"}, [](auto& c) { c.position_stride = 4; });
  expect_refused({"position_stride 65", "max_position_embeddings 64"}, [](auto& c) {
    c.position_embedding = "stride";
    c.max_position_embeddings = 64;
    c.position_stride = 65;
  });
  expect_refused({"hidden_size 16", "num_attention_heads 3"}, [](auto& c) { c.num_attention_heads = 3; });
  expect_refused({"num_attention_heads 4", "num_key_value_heads 3"}, [](auto& c) {
    c.num_attention_heads = 4;
    c.num_key_value_heads = 3;
  });
  expect_refused({"rotary", "even", "1"}, [](auto& c) { c.num_attention_heads = 16; });
  expect_refused({"attention", "2 layers", "3"}, [](auto& c) { c.attention = {"full", "full", "full"}; });
  expect_refused({"attention", "0"}, [](auto& c) { c.attention = {}; });
  expect_refused({"attention of layer 0", "relative", "position_embedding none"},
                 [](auto& c) { c.attention = {"relative"}; });
  expect_refused({"vocab_size", "256", "bytes"}, [](auto& c) { c.vocab_size = 255; });
}

TEST(TransformerConfig, AttentionHasToMakeSense) {
  const auto spoiled = [](const char* expression) {
    return [expression](auto& c) { c.attention = {"full", expression}; };
  };
  for (const char* expression : {"windw(4)", "window(4", "block(0, full)", "", "window(-3)", "heads(3 * full)"}) {
    TransformerConfig config = test::small_config();
    spoiled(expression)(config);
    try {
      validate(config, "some/config.json");
      ADD_FAILURE() << expression;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kExpression) << expression;
      EXPECT_TRUE(std::string(error.what()).starts_with("some/config.json: attention of layer 1: ")) << error.what();
    }
  }
}

TEST(TransformerConfig, ALearnedPositionOrSumEndsTheText) {
  TransformerConfig config = test::small_config();
  const std::int64_t most = config.max_position_embeddings;
  config.position_embedding = "rotary";
  EXPECT_NO_THROW(check_context(config, 10 * most));
  config.position_embedding = "learned";
  EXPECT_NO_THROW(check_context(config, most));
  test::expect_error(ErrorKind::kArgument, {"context must be at most", std::to_string(most), std::to_string(most + 1)},
                     [&] { check_context(config, most + 1); });
  config.position_embedding = "rotary";
  config.is_decoder = false;
  config.attention = {"full", "linformer(rank=2)"};
  test::expect_error(ErrorKind::kArgument, {"context must be at most"}, [&] { check_context(config, most + 1); });
}

TEST(TransformerConfig, EachLayerMayHaveItsOwnMechanism) {
  TransformerConfig config = test::small_config();
  config.attention = {"window(2)", "full"};
  EXPECT_EQ(config.attention_of(1), "full");
  const at::NoGradGuard without_gradients;
  const at::Tensor ids = test::random_ids(1, 20);
  const at::Tensor mixed = test::make_model(config)->logits(test::input_of(ids));
  config.attention = {"window(2)"};
  EXPECT_EQ(config.attention_of(1), "window(2)");
  EXPECT_FALSE(mixed.equal(test::make_model(config)->logits(test::input_of(ids))));
}

}  // namespace
}  // namespace weft::models
