// SPDX-License-Identifier: Apache-2.0
// EuroBERT's directories: the forms of its config.json, what is refused, and what its labels are scored from. That
// results are those of transformers is shown by encoder_exactness_test.cpp.
#include <gtest/gtest.h>

#include "models/small_encoder.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/core/files.h"
#include "weft/formats/config_json.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/eurobert/config.h"

namespace weft::checkpoint {
namespace {

using formats::Json;
using models::EncoderConfig;
using models::EurobertFields;
using models::Head;

class EuroBert : public ::testing::Test {
 protected:
  EncoderConfig read(Json fields) const {
    fields["model_type"] = "eurobert";
    write_file_atomically(folder_ / "config.json", formats::print_json(fields));
    return load_encoder_config(folder_.path());
  }

  test::TemporaryDirectory folder_;
};

TEST_F(EuroBert, ReadsBothFormsOfItsConfig) {
  const EncoderConfig silent = read(Json::object());
  EXPECT_EQ(silent.own.get<EurobertFields>().rope_theta, 10000.0);
  EXPECT_EQ(models::key_value_heads(silent), 12);
  EXPECT_FALSE(silent.tie_word_embeddings);
  const EncoderConfig authors =
      read({{"rope_theta", 250000}, {"rope_scaling", nullptr}, {"clf_pooling", "bos"}, {"head_dim", nullptr}});
  EXPECT_EQ(authors.own.get<EurobertFields>().rope_theta, 250000.0);
  EXPECT_EQ(authors.own.get<EurobertFields>().classifier_pooling, "bos");
  const EncoderConfig later = read({{"rope_parameters", {{"rope_theta", 70.0}, {"rope_type", "default"}}},
                                    {"num_key_value_heads", 4},
                                    {"rms_norm_eps", 1e-3},
                                    {"attention_dropout", 0.1}});
  EXPECT_EQ(later.own.get<EurobertFields>().rope_theta, 70.0);
  EXPECT_EQ(models::key_value_heads(later), 4);
  EXPECT_EQ(later.layer_norm_eps, 1e-3);
  EXPECT_EQ(later.attention_probs_dropout_prob, 0.1);
}

TEST_F(EuroBert, RefusesWhatItCannotCompute) {
  const auto refused = [&](ErrorKind kind, std::initializer_list<std::string_view> words, const Json& fields) {
    test::expect_error(kind, words, [&] { read(fields); });
  };
  refused(ErrorKind::kArgument, {"config.json", "num_attention_heads 12", "num_key_value_heads 5"},
          {{"num_key_value_heads", 5}});
  refused(ErrorKind::kArgument, {"pairs of columns", "found 7"}, {{"head_dim", 7}});
  refused(ErrorKind::kUnsupported, {"rope_parameters", "yarn"}, {{"rope_parameters", {{"rope_type", "yarn"}}}});
  refused(ErrorKind::kArgument, {"classifier_pooling", "late", "max"}, {{"classifier_pooling", "max"}});
}

// Of a text of one token all three are the same; of a longer one no two are.
TEST_F(EuroBert, ScoresLabelsFromTheFirstTokenOrTheMeanOrEach) {
  std::vector<at::Tensor> one;
  std::vector<at::Tensor> many;
  for (const char* pooling : {"late", "mean", "bos"}) {
    EncoderConfig config = test::small_encoder_config("eurobert");
    config.own.get<EurobertFields>().classifier_pooling = pooling;
    models::EncoderModel model = test::small_encoder(config, Head::kSequenceClassification);
    models::EncoderInput input;
    input.input_ids = test::text_ids(1, 1);
    one.push_back(model->forward(input).logits);
    input.input_ids = test::text_ids(1, 9);
    many.push_back(model->forward(input).logits);
  }
  EXPECT_TRUE(one[0].allclose(one[1], 1e-5, 1e-6) && one[0].allclose(one[2], 1e-5, 1e-6));
  EXPECT_FALSE(many[0].allclose(many[1], 1e-3, 1e-4));
  EXPECT_FALSE(many[1].allclose(many[2], 1e-3, 1e-4));
}

// Heads that share keys and values: three tensors of different sizes in a file.
TEST_F(EuroBert, KeepsEveryBitOfSharedHeads) {
  EncoderConfig config = test::small_encoder_config("eurobert");
  config.own.get<EurobertFields>().num_key_value_heads = 1;
  config.own.get<EurobertFields>().head_dim = 6;
  models::EncoderModel model = test::small_encoder(config, Head::kMaskedLanguageModel);
  save_encoder(folder_ / "made", model);
  models::EncoderInput input;
  input.input_ids = test::text_ids(2, 40);
  EXPECT_TRUE(load_encoder(folder_ / "made")->forward(input).logits.equal(model->forward(input).logits));
}

}  // namespace
}  // namespace weft::checkpoint
