// SPDX-License-Identifier: Apache-2.0
// Encoder-decoders of Weft's own: saved and loaded to the bit, refused where they do not fit, and their means.
#include "weft/checkpoint/average.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <c10/core/GradMode.h>
#include <torch/utils.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/core/files.h"
#include "weft/formats/config_json.h"

namespace weft::checkpoint {
namespace {

namespace fs = std::filesystem;

models::EncoderDecoder tiny_pair_model(std::uint64_t seed, std::int64_t layers = 1,
                                       const std::string& attention = "full") {
  models::EncoderDecoderConfig config;
  config.vocab_size = 256;
  config.d_model = 8;
  config.encoder_layers = layers;
  config.decoder_layers = layers;
  config.encoder_attention_heads = 2;
  config.decoder_attention_heads = 2;
  config.encoder_ffn_dim = 12;
  config.decoder_ffn_dim = 12;
  config.encoder_attention = {attention};
  config.pad_token_id = 0;
  config.eos_token_id = 1;
  config.decoder_start_token_id = 0;
  torch::manual_seed(seed);
  return models::EncoderDecoder(config);
}

class OwnPair : public ::testing::Test {
 protected:
  fs::path saved(const std::string& name, const models::EncoderDecoder& model) const {
    save_encoder_decoder(folder_ / name, model, *text::make_byte_tokenizer());
    return folder_ / name;
  }

  test::TemporaryDirectory folder_;
};

TEST_F(OwnPair, ComesBackToTheBit) {
  const models::EncoderDecoder model = tiny_pair_model(1);
  const fs::path directory = saved("model", model);
  EXPECT_TRUE(open_model(directory).can(Ability::kWrite));
  const models::EncoderDecoder loaded = load_encoder_decoder(directory);
  EXPECT_EQ(formats::to_json(loaded->config()), formats::to_json(model->config()));
  const auto expected = model->named_parameters();
  for (const auto& parameter : loaded->named_parameters()) {
    EXPECT_TRUE(parameter.value().equal(expected[parameter.key()])) << parameter.key();
  }
}

TEST_F(OwnPair, RefusesWhatDoesNotFit) {
  const fs::path directory = saved("model", tiny_pair_model(1));
  formats::Json config = formats::read_json(directory / "config.json");
  config["d_model"] = 10;
  write_file_atomically(directory / "config.json", config.dump());
  test::expect_error(ErrorKind::kFormat, {"shape"}, [&] { load_encoder_decoder(directory); });
  config["d_model"] = 8;
  config["eos_token_id"] = 256;
  write_file_atomically(directory / "config.json", config.dump());
  test::expect_error(ErrorKind::kArgument, {"config.json", "eos_token_id", "256"},
                     [&] { load_encoder_decoder(directory); });
  config["model_type"] = "weft";
  write_file_atomically(directory / "config.json", config.dump());
  test::expect_error(ErrorKind::kUnsupported, {"encoder-decoder", "weft"}, [&] { load_encoder_decoder(directory); });
}

TEST_F(OwnPair, RandomFeaturesHaveNoMean) {
  const auto models = [&](const char* name, const std::string& attention) {
    return std::vector<fs::path>{saved(concat(name, 1), tiny_pair_model(1, 1, attention)),
                                 saved(concat(name, 2), tiny_pair_model(2, 1, attention))};
  };
  test::expect_error(ErrorKind::kArgument, {"random features", "mechanism.projection", "drawn anew"},
                     [&] { average_models(models("other", "performer(features=8)"), folder_ / "mean"); });
  EXPECT_NO_THROW(average_models(models("same", "performer(features=8, seed=3)"), folder_ / "mean"));
}

TEST_F(OwnPair, TheMeanOfModels) {
  const std::vector<models::EncoderDecoder> models = {tiny_pair_model(1), tiny_pair_model(2), tiny_pair_model(3)};
  std::vector<fs::path> directories;
  directories.reserve(models.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    directories.push_back(saved(std::to_string(i), models[i]));
  }
  write_file_atomically(directories.front() / "training.json", "{}");
  average_models(directories, folder_ / "mean");
  EXPECT_FALSE(fs::exists(folder_ / "mean/training.json"));
  const models::EncoderDecoder mean = load_encoder_decoder(folder_ / "mean");
  const at::NoGradGuard no_grad;
  for (const auto& parameter : mean->named_parameters()) {
    at::Tensor sum = models[0]->named_parameters()[parameter.key()].to(at::kDouble);
    sum = sum + models[1]->named_parameters()[parameter.key()] + models[2]->named_parameters()[parameter.key()];
    EXPECT_TRUE(parameter.value().equal((sum / 3.0).to(at::kFloat))) << parameter.key();
  }
  average_models(std::vector<fs::path>{directories[0]}, folder_ / "same");
  EXPECT_EQ(read_file(folder_ / "same/config.json"), read_file(directories[0] / "config.json"));
  directories.push_back(saved("deep", tiny_pair_model(4, 2)));
  test::expect_error(ErrorKind::kArgument, {"encoder_layers", "deep"},
                     [&] { average_models(directories, folder_ / "other"); });
  test::expect_error(ErrorKind::kArgument, {"mean", "exists"}, [&] { average_models(directories, folder_ / "mean"); });
  EXPECT_FALSE(fs::exists(folder_ / "other"));
}

}  // namespace
}  // namespace weft::checkpoint
