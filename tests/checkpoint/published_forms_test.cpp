// SPDX-License-Identifier: Apache-2.0
// Directories of DistilBERT, XLM-RoBERTa and CamemBERT in the forms in which they were published: fields by other names
// than BERT's, the copies and names of older files, the base's names with and without the family's.
#include <gtest/gtest.h>

#include <ATen/ops/zeros.h>

#include "models/small_encoder.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/tensors.h"
#include "weft/core/files.h"
#include "weft/formats/config_json.h"
#include "weft/models/families/encoder_rules.h"

namespace weft::checkpoint {
namespace {

using formats::Json;
using models::EncoderConfig;
using models::EncoderModel;
using models::Head;

class PublishedForms : public ::testing::Test {
 protected:
  void save(const std::string& family, Head head) {
    std::filesystem::remove_all(directory_);
    model_ = test::small_encoder(test::small_encoder_config(family), head);
    save_encoder(directory_, model_);
  }

  /// Writes the weights again under names that `change` gives.
  template <typename Change>
  void rename(const Change& change) const {
    NamedTensors tensors = load_tensors(directory_ / "model.safetensors");
    for (auto& [name, tensor] : tensors) {
      name = change(name);
    }
    save_tensors(directory_ / "model.safetensors", tensors);
  }

  void add(const NamedTensors& more) const {
    NamedTensors tensors = load_tensors(directory_ / "model.safetensors");
    tensors.insert(tensors.end(), more.begin(), more.end());
    save_tensors(directory_ / "model.safetensors", tensors);
  }

  void edit_config(const Json& change) const {
    Json json = formats::read_json(directory_ / "config.json");
    json.update(change);
    write_file_atomically(directory_ / "config.json", formats::print_json(json));
  }

  at::Tensor tokens() const { return model_->named_parameters()["encoder.embeddings.tokens"].detach().clone(); }

  void expect_same() const {
    models::EncoderInput input;
    input.input_ids = test::text_ids(2, 40);
    EncoderModel loaded = load_encoder(directory_);
    const auto expected = model_->forward(input).named();
    const auto found = loaded->forward(input).named();
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(found[i].second.equal(expected[i].second)) << found[i].first;
    }
  }

  test::TemporaryDirectory folder_;
  std::filesystem::path directory_ = folder_ / "model";
  mutable EncoderModel model_{nullptr};
};

TEST_F(PublishedForms, DistilbertCallsItsFieldsOtherwise) {
  write_file_atomically(folder_ / "config.json", R"({"model_type": "distilbert", "architectures": ["DistilBertModel"],
      "dim": 24, "n_layers": 3, "n_heads": 4, "hidden_dim": 7, "activation": "relu", "dropout": 0.3,
      "attention_dropout": 0.4, "seq_classif_dropout": 0.5, "qa_dropout": 0.6, "vocab_size": 50, "hidden_size": 99,
      "eos_token_id": [2, 3], "sinusoidal_pos_embds": true, "tie_weights_": true})");
  const EncoderConfig config = load_encoder_config(folder_.path());
  EXPECT_EQ(config.hidden_size, 24);  // not the name of others
  EXPECT_EQ(config.num_hidden_layers, 3);
  EXPECT_EQ(config.num_attention_heads, 4);
  EXPECT_EQ(config.intermediate_size, 7);
  EXPECT_EQ(config.hidden_act, "relu");
  EXPECT_EQ(config.hidden_dropout_prob, 0.3);
  EXPECT_EQ(config.attention_probs_dropout_prob, 0.4);
  EXPECT_EQ(config.eos_token_id, 2);
  const models::HeadPlan plan = models::head_plan(config, Head::kSequenceClassification);
  EXPECT_EQ(plan.pooler_activation, "relu");
  EXPECT_EQ(plan.class_dropout, 0.5);
  EXPECT_EQ(plan.choice_dropout, 0.5);
  EXPECT_EQ(plan.tag_dropout, 0.3);
  EXPECT_EQ(plan.answer_dropout, 0.6);
  write_file_atomically(folder_ / "config.json", R"({"model_type": "distilbert"})");
  const models::HeadPlan silent = models::head_plan(load_encoder_config(folder_.path()), Head::kSequenceClassification);
  EXPECT_EQ(silent.class_dropout, 0.2);
  EXPECT_EQ(silent.answer_dropout, 0.1);
  write_file_atomically(folder_ / "config.json", R"({"model_type": "distilbert", "n_heads": 5})");
  test::expect_error(ErrorKind::kArgument, {"config.json", "not divisible"},
                     [&] { load_encoder_config(folder_.path()); });
}

TEST_F(PublishedForms, DistilbertIsWrittenAsTransformersReadsIt) {
  save("distilbert", Head::kQuestionAnswering);
  const Json json = formats::read_json(directory_ / "config.json");
  EXPECT_EQ(json.at("architectures"), Json::array({"DistilBertForQuestionAnswering"}));
  EXPECT_EQ(json.at("dim"), 16);
  EXPECT_EQ(json.at("n_layers"), 2);
  EXPECT_EQ(json.at("hidden_dim"), 24);
  EXPECT_EQ(json.at("seq_classif_dropout"), 0.2);
  EXPECT_EQ(json.at("qa_dropout"), 0.1);
  for (const char* absent : {"hidden_size", "num_hidden_layers", "intermediate_size", "type_vocab_size",
                             "layer_norm_eps", "hidden_act", "classifier_dropout", "position_embedding_type"}) {
    EXPECT_FALSE(json.contains(absent)) << absent;
  }
  expect_same();
}

TEST_F(PublishedForms, DistilbertInOlderFiles) {
  save("distilbert", Head::kMaskedLanguageModel);
  add({{"vocab_projector.weight", tokens()},
       {"distilbert.embeddings.position_ids", at::zeros({1, 128}, at::TensorOptions(at::kLong))}});
  expect_same();
  for (const Head head : {Head::kSequenceClassification, Head::kMultipleChoice, Head::kTokenClassification}) {
    save("distilbert", head);
    edit_config({{"architectures", nullptr}, {"eos_token_id", nullptr}});
    EXPECT_EQ(open_model(directory_).head(), head);
  }
  save("distilbert", Head::kNone);
  expect_same();  // as sentence-transformers has them, without the family's name
  rename([](const std::string& name) { return "distilbert." + name; });
  expect_same();
}

TEST_F(PublishedForms, RobertaOfManyLanguagesInOlderFiles) {
  for (const char* family : {"xlm-roberta", "camembert"}) {
    save(family, Head::kMaskedLanguageModel);
    EXPECT_EQ(formats::read_json(directory_ / "config.json").at("model_type"), family);
    add({{"lm_head.decoder.weight", tokens()},
         {"roberta.embeddings.position_ids", at::zeros({1, 128}, at::TensorOptions(at::kLong))},
         {"roberta.pooler.dense.weight", at::zeros({16, 16})},
         {"roberta.pooler.dense.bias", at::zeros({16})}});
    rename([](std::string name) {
      const auto norm = name.find("LayerNorm.weight");
      return norm == std::string::npos ? name == "lm_head.bias" ? "lm_head.decoder.bias" : name
                                       : name.replace(norm, std::string::npos, "LayerNorm.gamma");
    });
    edit_config({{"classifier_dropout", nullptr}, {"eos_token_id", {2, 3}}});
    expect_same();
    save(family, Head::kNone);
    rename([](const std::string& name) { return "roberta." + name; });
    expect_same();
  }
}

}  // namespace
}  // namespace weft::checkpoint
