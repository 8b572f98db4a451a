// SPDX-License-Identifier: Apache-2.0
// From BERT and RoBERTa to Longformer and BigBird: within the old length and one window the new model is the old one.
// To LittleBird, whose layers pack and whose positions are slopes: what its parameters begin with.
#include <gtest/gtest.h>

#include "models/small_encoder.h"
#include "support/expect_error.h"
#include "support/torch_fixture.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/models/families/etc/config.h"
#include "weft/models/families/longformer/config.h"

namespace weft::checkpoint {
namespace {

using models::EncoderModel;
using models::Head;

EncoderModel source(const char* family, Head head = Head::kMaskedLanguageModel) {
  models::EncoderConfig config = test::small_encoder_config(family);
  config.max_position_embeddings = family == std::string("bert") ? 32 : 34;
  config.type_vocab_size = family == std::string("bert") ? 2 : 1;
  return test::small_encoder(config, head);
}

ConvertOptions request(const char* to, std::int64_t length) {
  ConvertOptions options;
  options.to = to;
  options.length = length;
  options.settings = {{"attention_window", {64}}, {"block_size", 4}, {"num_random_blocks", 1}};
  return options;
}

class ConvertEncoder : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

// Windows of 64 over 28 tokens, and BigBird's full attention for so few: nothing is left out.
TEST_P(ConvertEncoder, ShortTextsGiveTheSameScores) {
  EncoderModel old = source(GetParam().first);
  EncoderModel made = convert_encoder(old, request(GetParam().second, 100));
  models::EncoderInput input;
  input.input_ids = test::text_ids(2, 28);
  EXPECT_LT(test::largest_difference(made->forward(input).logits, old->forward(input).logits), 1e-5);
  EXPECT_EQ(made->config().maximum_length(), 100);
  input.input_ids = test::text_ids(1, 100);
  EXPECT_NO_THROW(made->forward(input));
}

INSTANTIATE_TEST_SUITE_P(Pairs, ConvertEncoder,
                         ::testing::Values(std::pair{"bert", "longformer"}, std::pair{"bert", "big_bird"},
                                           std::pair{"roberta", "longformer"}, std::pair{"roberta", "big_bird"},
                                           std::pair{"xlm-roberta", "longformer"}, std::pair{"camembert", "big_bird"}));

TEST(ConvertedTables, RepeatThePositionsAndKeepThoseOfPadding) {
  EncoderModel old = source("roberta");
  const EncoderModel made = convert_encoder(old, request("longformer", 70));
  const at::Tensor before = old->named_parameters()["encoder.embeddings.positions"];
  const at::Tensor after = made->named_parameters()["encoder.embeddings.positions"];
  ASSERT_EQ(after.size(0), 72);
  EXPECT_TRUE(after.narrow(0, 0, 34).equal(before));
  EXPECT_TRUE(after.narrow(0, 34, 32).equal(before.narrow(0, 2, 32)));
  EXPECT_TRUE(after.narrow(0, 66, 6).equal(before.narrow(0, 2, 6)));
  const at::Tensor local = made->named_parameters()["encoder.layers.1.attention.qkv.weight"];
  EXPECT_TRUE(made->named_parameters()["encoder.layers.1.attention.global_qkv.weight"].equal(local));
  EXPECT_EQ(made->config().own.get<models::LongformerFields>().attention_window.size(), 2U);
}

TEST(ConvertedModels, AreMadeOfThoseWithTheLayersOfBertOrRoberta) {
  test::expect_error(ErrorKind::kArgument, {"bert or roberta", "distilbert"},
                     [] { convert_encoder(source("distilbert"), request("longformer", 64)); });
}

// Layers whose own attention is named get another one; within its reach nothing changes.
TEST(ConvertedModels, StayWhatTheyAreWherePositionsAreRotary) {
  EncoderModel old = source("modernbert", Head::kSequenceClassification);
  ConvertOptions options;
  options.to = "modernbert";
  options.length = 100;
  options.attention = {"full => window(64) | global(first=1)"};
  EncoderModel made = convert_encoder(old, options);
  const std::vector<std::string> expected = {"window(64) | global(first=1)", "window(8)"};
  EXPECT_EQ(made->config().attention, expected);
  EXPECT_EQ(made->config().maximum_length(), 100);
  models::EncoderInput input;
  input.input_ids = test::text_ids(2, 28);
  EXPECT_LT(test::largest_difference(made->forward(input).logits, old->forward(input).logits), 1e-5);
  models::EncoderOptions of_call;
  of_call.attention = "window(8) => window(2)";
  const EncoderModel again = test::small_encoder(made->config(), Head::kNone, of_call);
  EXPECT_EQ(again->computed().back(), (std::pair<std::string, std::string>{"attention.1", "window(2)"}));
  options.attention = {"window(7) => full"};
  test::expect_error(ErrorKind::kArgument, {"`window(7) => full` replaces nothing", "'full'", "'window(8)'"},
                     [&] { convert_encoder(old, options); });
  test::expect_error(ErrorKind::kArgument, {"bert or roberta", "modernbert"},
                     [&] { convert_encoder(old, request("longformer", 128)); });
  options.attention.clear();
  test::expect_error(ErrorKind::kArgument, {"a modernbert out of a modernbert", "bert"},
                     [&] { convert_encoder(source("bert"), options); });
}

TEST(ConvertedHeads, GoAlongWhereTheirLayersAreTheSame) {
  EXPECT_EQ(convert_encoder(source("bert", Head::kTokenClassification), request("big_bird", 64))->head(),
            Head::kTokenClassification);
  EXPECT_NO_THROW(convert_encoder(source("roberta", Head::kSequenceClassification), request("longformer", 64)));
  test::expect_error(ErrorKind::kUnsupported, {"sequence-classification", "bert", "longformer"},
                     [] { convert_encoder(source("bert", Head::kSequenceClassification), request("longformer", 64)); });
  test::expect_error(ErrorKind::kUnsupported, {"question-answering"},
                     [] { convert_encoder(source("bert", Head::kQuestionAnswering), request("big_bird", 64)); });
}

TEST(ConvertedLittleBird, PacksWithTheProjectionsOfTheLayer) {
  for (const char* family : {"bert", "roberta"}) {
    EncoderModel old = source(family);
    ConvertOptions options = request("littlebird", 100);
    options.settings["num_latents"] = 5;
    EncoderModel made = convert_encoder(old, options);
    EXPECT_EQ(made->config().model_type, "littlebird");
    EXPECT_EQ(made->config().maximum_length(), 100);
    EXPECT_FALSE(made->config().has_position_table());
    const auto before = old->named_parameters();
    const auto after = made->named_parameters();
    const std::string layer = "encoder.layers.1.";
    for (const char* kind : {"weight", "bias"}) {
      const at::Tensor fused = before[layer + "attention.qkv." + kind];
      EXPECT_TRUE(after[layer + "attention.qkv." + kind].equal(fused));
      EXPECT_TRUE(after[layer + "pack.query." + kind].equal(fused.narrow(0, 0, 16)));
      EXPECT_TRUE(after[layer + "pack.key_value." + kind].equal(fused.narrow(0, 16, 32)));
      EXPECT_TRUE(after[layer + "pack.output." + kind].equal(before[layer + "attention.output." + kind]));
      EXPECT_TRUE(after[layer + "pack_norm." + kind].equal(before[layer + "attention_norm." + kind]));
    }
    // Latent 3 of 5 is that of position 19 of 32.
    const at::Tensor row = before["encoder.embeddings.positions"][family == std::string("bert") ? 19 : 21] +
                           before["encoder.embeddings.token_types"][0] + before["encoder.embeddings.tokens"].mean(0);
    const at::Tensor scaled = (row - row.mean()) / row.std(0, false) * before["encoder.embeddings.norm.weight"] +
                              before["encoder.embeddings.norm.bias"];
    EXPECT_LT(test::largest_difference(after["encoder.latents"][3], scaled), 1e-4);
    models::EncoderInput input;
    input.input_ids = test::text_ids(1, 100);
    EXPECT_TRUE(made->forward(input).logits.isfinite().all().item<bool>());
    options.settings["num_latents"] = 33;
    test::expect_error(ErrorKind::kArgument, {"1 to 32 latents", "33"}, [&] { convert_encoder(old, options); });
  }
}

TEST(ConvertedEtc, BeginsWithTheWeightsOfTheText) {
  for (const char* family : {"bert", "roberta"}) {
    EncoderModel old = source(family);
    ConvertOptions options = request("etc", 100);
    options.settings["sentence_end_ids"] = {5};
    EncoderModel made = convert_encoder(old, options);
    EXPECT_EQ(made->config().model_type, "etc");
    EXPECT_EQ(made->config().maximum_length(), 100);
    EXPECT_EQ(made->config().own.get<models::EtcFields>().sentence_end_ids, (std::vector<std::int64_t>{5}));
    const auto before = old->named_parameters();
    const auto after = made->named_parameters();
    const std::string layer = "encoder.layers.1.";
    for (const char* kind : {"weight", "bias"}) {
      EXPECT_TRUE(after[layer + "attention.qkv." + kind].equal(before[layer + "attention.qkv." + kind]));
      EXPECT_TRUE(after[layer + "attention.global_output." + kind].equal(before[layer + "attention.output." + kind]));
      EXPECT_TRUE(after[layer + "global_attention_norm." + kind].equal(before[layer + "attention_norm." + kind]));
      EXPECT_TRUE(after[std::string("encoder.globals.norm.") + kind].equal(
          before[std::string("encoder.embeddings.norm.") + kind]));
    }
    EXPECT_TRUE(after["encoder.globals.token_types"].equal(before["encoder.embeddings.token_types"]));
    EXPECT_EQ(after[layer + "attention.mechanism.labels"].abs().max().item<double>(), 0.0);
    const at::Tensor kinds = after["encoder.globals.tokens"] - before["encoder.embeddings.tokens"].mean(0);
    EXPECT_NEAR(kinds.std().item<double>(), made->config().initializer_range, 0.1);
    models::EncoderInput input;
    input.input_ids = test::text_ids(1, 100);
    EXPECT_TRUE(made->forward(input).logits.isfinite().all().item<bool>());
  }
}

// Another attention in the source's config would stand in place of what makes the new family.
TEST(ConvertedAttention, IsThatOfTheNewFamilyOrOneThatIsAskedFor) {
  models::EncoderConfig config = test::small_encoder_config("bert");
  config.max_position_embeddings = 32;
  config.attention = {"linear"};
  const EncoderModel old = test::small_encoder(config, Head::kNone);
  for (const char* to : {"longformer", "big_bird", "etc"}) {
    EXPECT_TRUE(convert_encoder(old, request(to, 64))->config().attention.empty()) << to;
  }
  ConvertOptions options = request("littlebird", 64);
  options.settings["num_latents"] = 3;
  EXPECT_TRUE(convert_encoder(old, options)->named_parameters().contains("encoder.latents"));
  options.settings["num_latents"] = 64;  // not used: the source has 32 positions
  options.attention = {"window(4)"};
  const EncoderModel asked = convert_encoder(old, options);
  EXPECT_EQ(asked->config().attention, options.attention);
  EXPECT_FALSE(asked->named_parameters().contains("encoder.latents"));
}

TEST(ConvertedRequests, AreChecked) {
  const EncoderModel old = source("bert");
  test::expect_error(ErrorKind::kArgument, {"length", "32", "16"},
                     [&] { convert_encoder(old, request("big_bird", 16)); });
  test::expect_error(ErrorKind::kArgument, {"'reformer'"}, [&] { convert_encoder(old, request("reformer", 64)); });
  const EncoderModel made = convert_encoder(old, request("big_bird", 64));
  test::expect_error(ErrorKind::kArgument, {"found big_bird"},
                     [&] { convert_encoder(made, request("longformer", 64)); });
}

}  // namespace
}  // namespace weft::checkpoint
