// SPDX-License-Identifier: Apache-2.0
// Rules between the fields of an EncoderConfig, heads by name, published sizes.
#include <algorithm>

#include <gtest/gtest.h>

#include "models/small_encoder.h"
#include "support/expect_error.h"
#include "weft/models/families/big_bird/config.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/etc/config.h"
#include "weft/models/families/littlebird/config.h"
#include "weft/models/families/longformer/config.h"
#include "weft/models/families/nystromformer/config.h"
#include "weft/text/hugging_face/tokenizer_classes.h"

namespace weft::models {
namespace {

template <typename Change>
void expect_invalid(const char* family, std::initializer_list<std::string_view> words, Change change) {
  EncoderConfig config = test::small_encoder_config(family);
  change(config);
  test::expect_error(ErrorKind::kArgument, words, [&] { validate(config, "here"); });
}

TEST(EncoderConfig, RefusesWhatDoesNotGoTogether) {
  expect_invalid("bert", {"here", "hidden_size 15", "num_attention_heads 2"}, [](auto& c) { c.hidden_size = 15; });
  expect_invalid("bert", {"num_attention_heads"}, [](auto& c) { c.num_attention_heads = 0; });
  expect_invalid("bert", {"num_hidden_layers"}, [](auto& c) { c.num_hidden_layers = std::int64_t{1} << 31; });
  expect_invalid("bert", {"pad_token_id 40", "vocab_size 40"}, [](auto& c) { c.pad_token_id = 40; });
  expect_invalid("bert", {"id2label"}, [](auto& c) { c.id2label.clear(); });
  expect_invalid("bert", {"problem_type", "'guess'"}, [](auto& c) { c.problem_type = "guess"; });
  expect_invalid("bert", {"attention must list", "found 3"}, [](auto& c) { c.attention = {"full", "full", "full"}; });
  expect_invalid("big_bird", {"attention of layer 1 is empty"}, [](auto& c) { c.attention = {"window(4)", ""}; });
  expect_invalid("bert", {"attention of layer 0 is empty"}, [](auto& c) { c.attention = {""}; });
  expect_invalid("bert", {"classifier_dropout must be at least 0, or -1", "found -0.5"},
                 [](auto& c) { c.classifier_dropout = -0.5; });
  expect_invalid("distilbert", {"classifier_dropout (seq_classif_dropout in config.json) must be at least 0, found -1"},
                 [](auto& c) { c.classifier_dropout = -1.0; });
  expect_invalid("roberta", {"pad_token_id"}, [](auto& c) { c.pad_token_id = -1; });
  expect_invalid("roberta", {"max_position_embeddings 2", "padding"}, [](auto& c) { c.max_position_embeddings = 2; });
  expect_invalid("longformer", {"attention_window", "found 3"},
                 [](auto& c) { c.own.template get<LongformerFields>().attention_window = {2, 2, 2}; });
  expect_invalid("longformer", {"attention_window", "even", "found 5"},
                 [](auto& c) { c.own.template get<LongformerFields>().attention_window = {5}; });
  expect_invalid("longformer", {"attention_window", "found 0"},
                 [](auto& c) { c.own.template get<LongformerFields>().attention_window = {0}; });
  expect_invalid("big_bird", {"block_size"}, [](auto& c) { c.own.template get<BigBirdFields>().block_size = 0; });
  expect_invalid("big_bird", {"attention_type"},
                 [](auto& c) { c.own.template get<BigBirdFields>().attention_type = "sparse"; });
  expect_invalid("nystromformer", {"conv_kernel_size", "odd", "-1", "found 4"},
                 [](auto& c) { c.own.template get<NystromformerFields>().conv_kernel_size = 4; });
  expect_invalid("littlebird", {"num_latents", "0"},
                 [](auto& c) { c.own.template get<LittleBirdFields>().num_latents = 0; });
  expect_invalid("nystromformer", {"num_landmarks"},
                 [](auto& c) { c.own.template get<NystromformerFields>().num_landmarks = 0; });
  expect_invalid("etc", {"local_radius", "0"}, [](auto& c) { c.own.template get<EtcFields>().local_radius = 0; });
  expect_invalid("etc", {"hard_edges"}, [](auto& c) { c.own.template get<EtcFields>().hard_edges = "all"; });
  expect_invalid("etc", {"sentence_end_ids", "vocab_size = 40", "found 41"},
                 [](auto& c) { c.own.template get<EtcFields>().sentence_end_ids = {5, 41}; });
}

TEST(EncoderConfig, KnowsThePublishedSizes) {
  for (const char* family : {"bert", "roberta", "longformer", "big_bird", "nystromformer", "littlebird", "etc",
                             "star_transformer", "xlm-roberta", "camembert", "distilbert", "modernbert", "mpnet",
                             "electra", "nomic_bert", "jina_bert", "eurobert", "esm", "deberta-v2"}) {
    EXPECT_NO_THROW(validate(base_config(family), family));
  }
  EXPECT_EQ(base_config("bert").maximum_length(), 512);
  EXPECT_EQ(base_config("roberta").maximum_length(), 512);
  EXPECT_EQ(base_config("longformer").maximum_length(), 4096);
  EXPECT_EQ(base_config("big_bird").maximum_length(), 4096);
  EXPECT_EQ(base_config("nystromformer").maximum_length(), 510);
  EXPECT_EQ(base_config("littlebird").maximum_length(), 4096);
  EXPECT_EQ(base_config("etc").maximum_length(), 4096);
  EXPECT_EQ(base_config("star_transformer").maximum_length(), 512);
  EXPECT_EQ(base_config("xlm-roberta").maximum_length(), 512);
  EXPECT_EQ(base_config("distilbert").maximum_length(), 512);
  EXPECT_EQ(base_config("modernbert").maximum_length(), 8192);
  EXPECT_EQ(base_config("mpnet").maximum_length(), 512);
  EXPECT_EQ(base_config("electra").maximum_length(), 512);
  EXPECT_EQ(base_config("nomic_bert").maximum_length(), 2048);
  EXPECT_EQ(base_config("jina_bert").maximum_length(), 8192);
  EXPECT_EQ(base_config("eurobert").maximum_length(), 8192);
  EXPECT_EQ(base_config("esm").maximum_length(), 1026);
  EXPECT_EQ(base_config("deberta-v2").maximum_length(), 512);
  test::expect_error(ErrorKind::kArgument, {"longformer", "'gpt2'"}, [] { base_config("gpt2"); });
}

TEST(EncoderTypes, AreThoseOfTheFamilyTable) {
  std::vector<std::string_view> names;
  for (const Family* family : encoder_families()) {
    names.push_back(family->name);
    EXPECT_EQ(family->encoder->base.model_type, family->name);
    EXPECT_EQ(family->encoder->defaults.model_type, family->name);
  }
  EXPECT_EQ(names, std::vector<std::string_view>(kEncoderTypes.begin(), kEncoderTypes.end()));
  EXPECT_EQ(encoder_types(" and "),
            "bert, roberta, longformer, big_bird, nystromformer, littlebird, etc, star_transformer, xlm-roberta, "
            "camembert, distilbert, modernbert, mpnet, electra, nomic_bert, jina_bert, eurobert, esm and deberta-v2");
}

// The room of text has that table, and sees none of models.
TEST(EncoderTypes, HaveTheTokeniserClassesThatNameThem) {
  for (const text::TokenizerClass& row : text::tokenizer_classes()) {
    if (row.model_type.empty()) {
      continue;  // of a class that tokenizer_config.json alone names
    }
    EXPECT_TRUE(std::any_of(kFamilyNames.begin(), kFamilyNames.end(), [&](const FamilyName& family) {
      return family.name == row.model_type;
    })) << row.name;
  }
}

TEST(EncoderHeads, AreNamedAsInArchitectures) {
  EXPECT_EQ(parse_head("question-answering"), Head::kQuestionAnswering);
  EXPECT_EQ(to_string(Head::kMaskedLanguageModel), "masked-lm");
  test::expect_error(ErrorKind::kArgument, {"masked-lm", "'lm'"}, [] { parse_head("lm"); });
  EXPECT_EQ(architecture_name("big_bird", Head::kMultipleChoice), "BigBirdForMultipleChoice");
  EncoderConfig config = base_config("bert");
  EXPECT_EQ(config.head(), Head::kNone);
  for (const auto& [name, head] : {std::pair{"BertModel", Head::kNone},
                                   {"BertForPreTraining", Head::kMaskedLanguageModel},
                                   {"BertForTokenClassification", Head::kTokenClassification}}) {
    config.architectures = {name};
    EXPECT_EQ(config.head(), head) << name;
  }
  EncoderConfig discriminator = base_config("electra");
  discriminator.architectures = {"ElectraForPreTraining"};
  EXPECT_EQ(discriminator.head(), Head::kReplacedTokens);
  config.architectures = {"BertLMHeadModel"};
  test::expect_error(ErrorKind::kUnsupported, {"'BertLMHeadModel'", "BertForMaskedLM"}, [&] { config.head(); });
}

TEST(EncoderLabelNames, LeadToTheirIds) {
  EncoderConfig config;
  config.id2label = {"O", "B-person"};
  EXPECT_EQ(config.label2id("B-person"), 1);
  EXPECT_EQ(config.label2id("B-place"), std::nullopt);
  EXPECT_EQ(config.num_labels(), 2);
}

}  // namespace
}  // namespace weft::models
