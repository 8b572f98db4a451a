// SPDX-License-Identifier: Apache-2.0
// config.json of Hugging Face: what is read, what is passed over, what is refused.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/models/families/etc/config.h"
#include "weft/models/families/json/encoder_json.h"
#include "weft/models/families/littlebird/config.h"
#include "weft/models/families/longformer/config.h"
#include "weft/models/families/nystromformer/config.h"
#include "weft/models/families/star_transformer/config.h"

namespace weft::models {
namespace {

using formats::Json;

EncoderConfig read(const std::string& text) { return encoder_config_from_json(formats::parse_json(text, "c"), "c"); }

void refuse(ErrorKind kind, std::initializer_list<std::string_view> words, const std::string& text) {
  test::expect_error(kind, words, [&] { read(text); });
}

TEST(EncoderConfigJson, ReadsWhatTransformersWrites) {
  const EncoderConfig config = read(R"({
    "model_type": "longformer", "architectures": ["LongformerForTokenClassification"], "attention_window": [32, 64],
    "num_hidden_layers": 2, "vocab_size": 100, "id2label": {"1": "B", "0": "A", "2": "C"}, "label2id": {"A": 0},
    "transformers_version": "4.9.2", "torch_dtype": "float32", "use_cache": true, "gradient_checkpointing": false,
    "ignore_attention_mask": false, "eos_token_id": [2, 7], "bos_token_id": null})");
  EXPECT_EQ(config.own.get<LongformerFields>().window_of(1), 64);
  EXPECT_EQ(config.id2label, (std::vector<std::string>{"A", "B", "C"}));
  EXPECT_EQ(config.head(), Head::kTokenClassification);
  EXPECT_EQ(config.eos_token_id, 2);
  EXPECT_EQ(config.bos_token_id, -1);
  EXPECT_EQ(read(R"({"model_type": "longformer", "attention_window": 64})").own.get<LongformerFields>().window_of(11),
            64);
  EXPECT_EQ(read(R"({"model_type": "bert", "classifier_dropout": null, "num_labels": 5})").num_labels(), 5);
  EXPECT_EQ(read(R"({"model_type": "bert", "classifier_dropout": 0.3})").classifier_dropout, 0.3);
}

// Not the published sizes: what transformers takes where a file is silent.
TEST(EncoderConfigJson, TakesTheDefaultsOfTransformers) {
  EXPECT_EQ(read(R"({"model_type": "roberta"})").max_position_embeddings, 512);
  EXPECT_EQ(read(R"({"model_type": "roberta"})").type_vocab_size, 2);
  EXPECT_EQ(read(R"({"model_type": "longformer"})").vocab_size, 30522);
  EXPECT_EQ(read(R"({"model_type": "big_bird"})").hidden_act, "gelu_new");
  EXPECT_EQ(read(R"({"model_type": "nystromformer"})").own.get<NystromformerFields>().conv_kernel_size, 65);
  EXPECT_EQ(read(R"({"model_type": "nystromformer", "conv_kernel_size": null})")
                .own.get<NystromformerFields>()
                .conv_kernel_size,
            -1);
  EXPECT_FALSE(read(R"({"model_type": "littlebird", "num_latents": 7})").has_position_table());
  EXPECT_EQ(read(R"({"model_type": "littlebird", "num_latents": 7})").own.get<LittleBirdFields>().num_latents, 7);
  EXPECT_EQ(read(R"({"model_type": "etc", "sentence_end_ids": [7, 9], "local_radius": 3})")
                .own.get<EtcFields>()
                .sentence_end_ids,
            (std::vector<std::int64_t>{7, 9}));
  EXPECT_TRUE(read(R"({"model_type": "etc", "sentence_end_ids": []})").own.get<EtcFields>().sentence_end_ids.empty());
  EXPECT_EQ(
      read(R"({"model_type": "star_transformer", "attention_head_size": 7})").own.get<StarFields>().attention_head_size,
      7);
  for (const char* other : {"attention_head_size", "num_latents"}) {
    EXPECT_FALSE(read(concat(R"({"model_type": "bert", ")", other, R"(": 7})")).own.has(other));  // not its own
  }
}

TEST(EncoderConfigJson, RefusesWhatWouldChangeTheResult) {
  refuse(ErrorKind::kUnsupported, {"c: is_decoder"}, R"({"model_type": "bert", "is_decoder": true})");
  refuse(ErrorKind::kUnsupported, {"position_embedding_type", "relative_key"},
         R"({"model_type": "bert", "position_embedding_type": "relative_key"})");
  refuse(ErrorKind::kUnsupported, {"position_embedding_type", "none"},
         R"({"model_type": "roberta", "position_embedding_type": "none"})");
  EXPECT_FALSE(read(R"({"model_type": "bert", "position_embedding_type": "none"})").has_position_table());
  refuse(ErrorKind::kUnsupported, {"pruned_heads"}, R"({"model_type": "bert", "pruned_heads": {"0": [1]}})");
  refuse(ErrorKind::kUnsupported, {"c: ", "'bart'"}, R"({"model_type": "bart"})");
  refuse(ErrorKind::kFormat, {"model_type"}, R"({"hidden_size": 3})");
  refuse(ErrorKind::kFormat, {"model_type"}, R"([1])");
  refuse(ErrorKind::kArgument, {"hidden_act"}, R"({"model_type": "bert", "hidden_act": "selu"})");
}

TEST(EncoderConfigJson, RefusesWhatAFamilyCannotCompute) {
  refuse(ErrorKind::kUnsupported, {"c: summary_use_proj", "dense layer"},
         R"({"model_type": "electra", "summary_use_proj": false})");
  refuse(ErrorKind::kArgument, {"c: summary_type", "mean"}, R"({"model_type": "electra", "summary_type": "mean"})");
  refuse(ErrorKind::kArgument, {"c: embedding_size", "found 0"}, R"({"model_type": "electra", "embedding_size": 0})");
  refuse(ErrorKind::kArgument, {"c: relative_attention_num_buckets must be 32", "found 64"},
         R"({"model_type": "mpnet", "relative_attention_num_buckets": 64})");
  refuse(ErrorKind::kArgument, {"c: pad_token_id must be 1", "found 0"},
         R"({"model_type": "mpnet", "pad_token_id": 0})");
  refuse(
      ErrorKind::kArgument, {"c: layer_types must be", "found 'chunked_attention'"},
      R"({"model_type": "modernbert", "num_hidden_layers": 2, "layer_types": ["full_attention", "chunked_attention"]})");
}

TEST(EncoderConfigJson, RefusesWrongTypesAndSizes) {
  refuse(ErrorKind::kFormat, {"c: hidden_size"}, R"({"model_type": "bert", "hidden_size": "768"})");
  refuse(ErrorKind::kFormat, {"c: attention_window"}, R"({"model_type": "longformer", "attention_window": 2.5})");
  refuse(ErrorKind::kArgument, {"num_attention_heads"}, R"({"model_type": "bert", "num_attention_heads": 0})");
  refuse(ErrorKind::kArgument, {"c: classifier_dropout", "at least 0, or null", "found -1"},
         R"({"model_type": "bert", "classifier_dropout": -1})");
  refuse(ErrorKind::kArgument, {"seq_classif_dropout", "at least 0, found -1"},
         R"({"model_type": "distilbert", "seq_classif_dropout": -1})");
  refuse(ErrorKind::kArgument, {"num_hidden_layers"}, R"({"model_type": "bert", "num_hidden_layers": 2147483648})");
  for (const char* labels : {R"({"0": "a", "2": "b"})", R"({"x": "a"})", R"({"0": ["a"]})", R"({})", R"(["a"])"}) {
    refuse(ErrorKind::kFormat, {"id2label"}, std::string(R"({"model_type": "bert", "id2label": )") + labels + "}");
  }
}

TEST(EncoderConfigJson, WritesOnlyWhatTheFamilyHas) {
  const auto written = [](const char* family, Head head) {
    const EncoderModelImpl model(base_config(family), head, {}, at::TensorOptions(at::kMeta));
    return encoder_config_to_json(model);
  };
  const Json bert = written("bert", Head::kNone);
  EXPECT_EQ(bert.at("architectures"), Json::array({"BertModel"}));
  for (const char* absent : {"attention_window", "block_size", "sep_token_id", "attention", "id2label"}) {
    EXPECT_FALSE(bert.contains(absent)) << absent;
  }
  EXPECT_TRUE(bert.at("classifier_dropout").is_null());
  EXPECT_EQ(written("longformer", Head::kNone).at("attention_window"), 512);
  EncoderConfig windows = base_config("longformer");
  windows.own.get<LongformerFields>().attention_window = std::vector<std::int64_t>(12, 64);
  const EncoderModelImpl model(windows, Head::kNone, {}, at::TensorOptions(at::kMeta));
  EXPECT_EQ(encoder_config_to_json(model).at("attention_window").size(), 12U);
  EXPECT_EQ(written("big_bird", Head::kTokenClassification).at("label2id").at("LABEL_1"), 1);
}

}  // namespace
}  // namespace weft::models
