// SPDX-License-Identifier: Apache-2.0
// NomicBERT's directories in the layouts of its authors and of transformers, and what is refused. That results are
// those of transformers is shown by encoder_exactness_test.cpp.
#include <gtest/gtest.h>

#include "models/small_encoder.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/tensors.h"
#include "weft/core/files.h"
#include "weft/formats/config_json.h"
#include "weft/models/families/nomic_bert/config.h"

namespace weft::checkpoint {
namespace {

using formats::Json;
using models::EncoderConfig;
using models::Head;

class NomicBert : public ::testing::Test {
 protected:
  EncoderConfig read(Json fields) const {
    fields["model_type"] = "nomic_bert";
    write_file_atomically(folder_ / "config.json", formats::print_json(fields));
    return load_encoder_config(folder_.path());
  }

  void expect_refused(std::initializer_list<std::string_view> words, const Json& fields) const {
    test::expect_error(ErrorKind::kUnsupported, words, [&] { read(fields); });
  }

  /// Writes the weights of `from` under the names that `change` gives into `to`, with the same config.
  template <typename Change>
  void rename(const std::filesystem::path& from, const std::filesystem::path& to, const Change& change) const {
    NamedTensors tensors;
    for (const auto& [name, tensor] : load_tensors(from / "model.safetensors")) {
      change(name, tensor, tensors);
    }
    std::filesystem::create_directories(to);
    save_tensors(to / "model.safetensors", tensors);
    write_file_atomically(to / "config.json", read_file(from / "config.json"));
  }

  test::TemporaryDirectory folder_;
};

std::string replaced(std::string name, std::string_view from, std::string_view to) {
  const std::size_t at = name.find(from);
  return at == std::string::npos ? name : name.replace(at, from.size(), to);
}

TEST_F(NomicBert, ReadsTheFieldsOfItsAuthors) {
  const Json authors = {{"n_embd", 24},
                        {"n_layer", 3},
                        {"n_head", 4},
                        {"n_inner", 40},
                        {"n_positions", 8192},
                        {"layer_norm_epsilon", 1e-6},
                        {"rotary_emb_base", 900},
                        {"rotary_emb_fraction", 1.0},
                        {"rotary_scaling_factor", 2},
                        {"max_trained_positions", 2048},
                        {"activation_function", "swiglu"},
                        {"resid_pdrop", 0.2},
                        {"prenorm", false},
                        {"qkv_proj_bias", false}};
  const EncoderConfig config = read(authors);
  EXPECT_EQ(config.hidden_size, 24);
  EXPECT_EQ(config.num_hidden_layers, 3);
  EXPECT_EQ(config.num_attention_heads, 4);
  EXPECT_EQ(config.intermediate_size, 40);
  EXPECT_EQ(config.max_position_embeddings, 2048);  // longer texts would be scaled
  EXPECT_EQ(config.layer_norm_eps, 1e-6);
  EXPECT_EQ(config.hidden_act, "silu");
  EXPECT_EQ(config.hidden_dropout_prob, 0.2);
  EXPECT_EQ(config.own.get<models::NomicBertFields>().rope_theta, 900.0);
  const auto with = [&](const char* field, const Json& value) {
    Json changed = authors;
    changed[field] = value;
    return changed;
  };
  EXPECT_EQ(read(with("rotary_scaling_factor", nullptr)).max_position_embeddings, 8192);
  EXPECT_EQ(read(with("activation_function", "geglu")).hidden_act, "gelu");
  expect_refused({"config.json", "num_experts", "8", "0 alone"}, with("num_experts", 8));
  expect_refused({"rotary_emb_fraction", "0.5", "1 alone"}, with("rotary_emb_fraction", 0.5));
  expect_refused({"prenorm", "true"}, with("prenorm", true));
  expect_refused({"rotary_emb_interleaved", "true"}, with("rotary_emb_interleaved", true));
  expect_refused({"qkv_proj_bias", "true"}, with("qkv_proj_bias", true));
  expect_refused({"activation_function", "gelu_new"}, with("activation_function", "gelu_new"));
}

TEST_F(NomicBert, ReadsTheFieldsOfTransformers) {
  EXPECT_EQ(read({{"rope_parameters", {{"rope_theta", 70.0}, {"rope_type", "default"}}}})
                .own.get<models::NomicBertFields>()
                .rope_theta,
            70.0);
  EXPECT_EQ(read(Json::object()).own.get<models::NomicBertFields>().rope_theta, 1000.0);
  expect_refused({"rope_parameters", "yarn"}, {{"rope_parameters", {{"rope_type", "yarn"}}}});
  expect_refused({"head_dim", "32", "hidden_size 768"}, {{"head_dim", 32}});
  expect_refused({"config.json", "num_experts", "8", "0 alone"}, {{"hidden_size", 768}, {"num_experts", 8}});
  expect_refused({"rope_parameters", "whole heads", "0.5"}, {{"rope_parameters", {{"partial_rotary_factor", 0.5}}}});
}

// Names of the authors (with the prefix of transformers, their own, and none) and of the modules of transformers.
TEST_F(NomicBert, ReadsEveryLayout) {
  models::EncoderModel model =
      test::small_encoder(test::small_encoder_config("nomic_bert"), Head::kMaskedLanguageModel);
  const std::filesystem::path own = folder_ / "own";
  save_encoder(own, model);
  models::EncoderInput input;
  input.input_ids = test::text_ids(2, 40);
  const at::Tensor expected = model->forward(input).logits;
  const auto expect_same = [&](const std::filesystem::path& directory) {
    EXPECT_TRUE(load_encoder(directory)->forward(input).logits.equal(expected)) << directory;
  };
  expect_same(own);
  rename(own, folder_ / "authors", [](const std::string& name, const at::Tensor& tensor, NamedTensors& made) {
    made.emplace_back(replaced(name, "nomic_bert.", "bert."), tensor);
  });
  expect_same(folder_ / "authors");
  rename(own, folder_ / "native", [](std::string name, const at::Tensor& tensor, NamedTensors& made) {
    if (name.ends_with("attn.Wqkv.weight")) {
      const std::vector<at::Tensor> parts = tensor.chunk(3);
      const std::string layer = replaced(replaced(name, "encoder.layers", "layers"), "attn.Wqkv.weight", "self_attn.");
      made.emplace_back(layer + "q_proj.weight", parts[0].clone());
      made.emplace_back(layer + "k_proj.weight", parts[1].clone());
      made.emplace_back(layer + "v_proj.weight", parts[2].clone());
      return;
    }
    for (const auto& [from, to] : {std::pair{"encoder.layers", "layers"},
                                   {"emb_ln", "embeddings.LayerNorm"},
                                   {"attn.out_proj", "self_attn.o_proj"},
                                   {"fc11", "up_proj"},
                                   {"fc12", "gate_proj"},
                                   {"fc2", "down_proj"},
                                   {"norm1", "post_attention_layernorm"},
                                   {"norm2", "post_mlp_layernorm"}}) {
      name = replaced(name, from, to);
    }
    made.emplace_back(name, tensor);
  });
  expect_same(folder_ / "native");
  save_encoder(folder_ / "again", load_encoder(folder_ / "native"));
  expect_same(folder_ / "again");
}

}  // namespace
}  // namespace weft::checkpoint
