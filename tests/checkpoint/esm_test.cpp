// SPDX-License-Identifier: Apache-2.0
// ESM's config.json and what is refused. That results are those of transformers is shown by encoder_exactness_test.cpp.
#include <gtest/gtest.h>

#include "models/small_encoder.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/tensors.h"
#include "weft/core/files.h"
#include "weft/formats/config_json.h"

namespace weft::checkpoint {
namespace {

using formats::Json;
using models::EncoderConfig;
using models::Head;

class Esm : public ::testing::Test {
 protected:
  EncoderConfig read(Json fields) const {
    fields["model_type"] = "esm";
    write_file_atomically(folder_ / "config.json", formats::print_json(fields));
    return load_encoder_config(folder_.path());
  }

  test::TemporaryDirectory folder_;
};

TEST_F(Esm, ReadsRotaryPositionsAndTables) {
  const Json table = {{"pad_token_id", 1}, {"emb_layer_norm_before", nullptr}, {"position_embedding_type", "absolute"}};
  EXPECT_TRUE(read(table).has_position_table());
  EXPECT_EQ(read(table).maximum_length(), 1024);
  EXPECT_FALSE(read({{"position_embedding_type", "rotary"}}).has_position_table());
}

TEST_F(Esm, RefusesWhatItCannotCompute) {
  const auto refused = [&](ErrorKind kind, std::initializer_list<std::string_view> words, const Json& fields) {
    test::expect_error(kind, words, [&] { read(fields); });
  };
  refused(ErrorKind::kUnsupported, {"config.json", "is_folding_model", "ESMFold"}, {{"is_folding_model", true}});
  refused(ErrorKind::kUnsupported, {"position_embedding_type", "rotary", "relative_key"},
          {{"position_embedding_type", "relative_key"}});
  refused(ErrorKind::kArgument, {"token_dropout", "mask_token_id"},
          {{"position_embedding_type", "rotary"}, {"token_dropout", true}});
}

// Files have tensors that no result depends on.
TEST_F(Esm, PassesOverFrequenciesContactsAndATableThatNobodyReads) {
  models::EncoderModel model = test::small_encoder(test::small_encoder_config("esm"), Head::kMaskedLanguageModel);
  save_encoder(folder_ / "made", model);
  NamedTensors tensors = load_tensors(folder_ / "made/model.safetensors");
  tensors.emplace_back("esm.rotary_embeddings.inv_freq", at::zeros({4}));
  tensors.emplace_back("esm.encoder.layer.1.attention.self.rotary_embeddings.inv_freq", at::zeros({4}));
  tensors.emplace_back("esm.contact_head.regression.weight", at::zeros({1, 4}));
  tensors.emplace_back("esm.embeddings.position_embeddings.weight", at::zeros({128, 16}));
  save_tensors(folder_ / "made/model.safetensors", tensors);
  models::EncoderInput input;
  input.input_ids = test::text_ids(2, 20);
  EXPECT_TRUE(load_encoder(folder_ / "made")->forward(input).logits.equal(model->forward(input).logits));
}

// Rows of nothing but masks have no other token to make larger.
TEST_F(Esm, ComputesATextOfMasks) {
  models::EncoderModel model = test::small_encoder(test::small_encoder_config("esm"), Head::kNone);
  models::EncoderInput input;
  input.input_ids = at::full({1, 5}, 32, at::TensorOptions(at::kLong));
  EXPECT_TRUE(model->forward(input).last_hidden_state.isfinite().all().item<bool>());
}

}  // namespace
}  // namespace weft::checkpoint
