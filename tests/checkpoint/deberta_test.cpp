// SPDX-License-Identifier: Apache-2.0
// DeBERTa's config.json, the two names of its head for masked words, and what is refused. That results are those of
// transformers is shown by encoder_exactness_test.cpp.
#include <gtest/gtest.h>

#include <string>

#include "models/small_encoder.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/tensors.h"
#include "weft/core/files.h"
#include "weft/formats/config_json.h"
#include "weft/models/families/deberta_v2/config.h"

namespace weft::checkpoint {
namespace {

using formats::Json;
using models::DebertaFields;
using models::EncoderConfig;
using models::Head;

class Deberta : public ::testing::Test {
 protected:
  EncoderConfig read(Json fields) const {
    fields["model_type"] = "deberta-v2";
    write_file_atomically(folder_ / "config.json", formats::print_json(fields));
    return load_encoder_config(folder_.path());
  }

  void expect_refused(ErrorKind kind, std::initializer_list<std::string_view> words, const Json& fields) const {
    test::expect_error(kind, words, [&] { read(fields); });
  }

  test::TemporaryDirectory folder_;
};

TEST_F(Deberta, ReadsBothFormsOfItsTerms) {
  const std::vector<std::string> both{"p2c", "c2p"};
  EXPECT_EQ(read({{"pos_att_type", "P2C | c2p"}}).own.get<DebertaFields>().pos_att_type, both);
  EXPECT_EQ(read({{"pos_att_type", both}}).own.get<DebertaFields>().pos_att_type, both);
  EXPECT_TRUE(read({{"pos_att_type", nullptr}}).own.get<DebertaFields>().pos_att_type.empty());
  EXPECT_EQ(read({{"cls_dropout", nullptr}}).classifier_dropout, -1.0);
  EXPECT_EQ(read({{"cls_dropout", 0.25}}).classifier_dropout, 0.25);
  EXPECT_EQ(read(Json::object()).type_vocab_size, 0);
}

TEST_F(Deberta, RefusesWhatItCannotCompute) {
  const Json relative = {{"relative_attention", true}, {"pos_att_type", "c2p"}};
  const auto with = [&](const char* field, const Json& value) {
    Json changed = relative;
    changed[field] = value;
    return changed;
  };
  expect_refused(ErrorKind::kArgument, {"config.json", "pos_att_type", "c2p", "'p2p'"}, with("pos_att_type", "p2p"));
  expect_refused(ErrorKind::kArgument, {"position_buckets 1022", "512"}, with("position_buckets", 1022));
  expect_refused(ErrorKind::kArgument, {"conv_kernel_size", "odd", "4"}, with("conv_kernel_size", 4));
  expect_refused(ErrorKind::kArgument, {"conv_groups 7"}, with("conv_groups", 7));
  expect_refused(ErrorKind::kUnsupported, {"attention_head_size", "64", "96"}, with("attention_head_size", 96));
  expect_refused(ErrorKind::kUnsupported, {"attention of layer 0", "strided(4)", "distances"},
                 with("attention", Json::array({"strided(4)"})));
}

// Published files have the head under names that transformers reads without `legacy` alone.
TEST_F(Deberta, ReadsAndWritesThePublishedNamesOfTheHead) {
  models::EncoderConfig config = test::small_encoder_config("deberta-v2");
  config.own.get<DebertaFields>().embedding_size = 0;
  models::EncoderModel model = test::small_encoder(config, Head::kMaskedLanguageModel);
  save_encoder(folder_ / "own", model);
  NamedTensors tensors;
  for (auto [name, tensor] : load_tensors(folder_ / "own/model.safetensors")) {
    for (const std::string_view from : {"cls.predictions.transform.", "cls.predictions."}) {
      if (name.starts_with(from)) {
        name.replace(0, from.size(), "lm_predictions.lm_head.");
      }
    }
    tensors.emplace_back(name, tensor);
  }
  tensors.emplace_back("mask_predictions.classifier.weight", at::zeros({1, 16}));
  std::filesystem::create_directories(folder_ / "published");
  save_tensors(folder_ / "published/model.safetensors", tensors);
  write_file_atomically(folder_ / "published/config.json", read_file(folder_ / "own/config.json"));
  models::EncoderInput input;
  input.input_ids = test::text_ids(2, 40);
  const at::Tensor expected = model->forward(input).logits;
  models::EncoderModel published = load_encoder(folder_ / "published");
  EXPECT_TRUE(published->forward(input).logits.equal(expected));
  save_encoder(folder_ / "again", published);
  EXPECT_TRUE(load_encoder(folder_ / "again")->forward(input).logits.equal(expected));
  const auto legacy = [&](const char* name) {
    return formats::parse_json(read_file(folder_ / name / "config.json"), name).at("legacy").get<bool>();
  };
  EXPECT_TRUE(legacy("own"));
  EXPECT_FALSE(legacy("again"));
}

// A window leaves distances what they are: a text inside of it is what full attention makes of it.
TEST_F(Deberta, AWindowKnowsDistances) {
  models::EncoderConfig config = test::small_encoder_config("deberta-v2");
  models::EncoderModel full = test::small_encoder(config, Head::kNone);
  config.attention = {"window(16)"};
  models::EncoderModel window = test::small_encoder(config, Head::kNone);
  models::EncoderInput input;
  input.input_ids = test::text_ids(1, 9);
  EXPECT_TRUE(full->forward(input).last_hidden_state.allclose(window->forward(input).last_hidden_state, 1e-5, 1e-5));
  input.input_ids = test::text_ids(1, 30);
  EXPECT_FALSE(full->forward(input).last_hidden_state.allclose(window->forward(input).last_hidden_state, 1e-3, 1e-3));
}

}  // namespace
}  // namespace weft::checkpoint
