// SPDX-License-Identifier: Apache-2.0
// JinaBERT, whose model_type is BERT's: which of the two a config.json is, the names of its tensors, and its layers
// against their equations. transformers has no class of it: the authors' code comes with their models.
#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>

#include <cmath>

#include "models/small_encoder.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "support/torch_fixture.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/tensors.h"
#include "weft/core/files.h"
#include "weft/formats/config_json.h"

namespace weft::checkpoint {
namespace {

using formats::Json;
using models::EncoderModel;
using models::Head;

EncoderModel jina(const std::string& feed_forward, Head head = Head::kNone) {
  models::EncoderConfig config = test::small_encoder_config("jina_bert");
  models::update_fields(config, {{"feed_forward_type", feed_forward}}, "config");
  return test::small_encoder(config, head);
}

/// The last hidden states of one text by the tensors of a file, in float64.
at::Tensor by_equations(const std::filesystem::path& directory, const at::Tensor& ids, const std::string& kind) {
  const NamedTensors tensors = load_tensors(directory / "model.safetensors");
  const auto of = [&](const std::string& name) {
    for (const auto& [known, tensor] : tensors) {
      if (known == name) {
        return tensor.to(at::kDouble);
      }
    }
    return at::Tensor();
  };
  const auto linear = [&](const at::Tensor& x, const std::string& name) {
    return at::linear(x, of(name + ".weight"), of(name + ".bias"));
  };
  const auto norm = [&](const at::Tensor& x, const std::string& name) {
    return at::layer_norm(x, {16}, of(name + ".weight"), of(name + ".bias"), 1e-12);
  };
  const at::Tensor places = at::arange(ids.size(1), at::kDouble);
  const at::Tensor distances = (places.unsqueeze(0) - places.unsqueeze(1)).abs();
  const at::Tensor slopes = at::tensor({std::exp2(-4.0), std::exp2(-8.0)}, at::kDouble).view({2, 1, 1});
  at::Tensor x = norm(
      at::embedding(of("embeddings.word_embeddings.weight"), ids) + of("embeddings.token_type_embeddings.weight")[0],
      "embeddings.LayerNorm");
  for (const char* layer : {"encoder.layer.0.", "encoder.layer.1."}) {
    const std::string name = layer;
    const auto heads = [&](const char* part) {
      return linear(x, name + "attention.self." + part).view({1, -1, 2, 8}).transpose(1, 2);
    };
    const at::Tensor scores = heads("query").matmul(heads("key").transpose(2, 3)) / std::sqrt(8.0) - slopes * distances;
    const at::Tensor seen = at::softmax(scores, -1).matmul(heads("value")).transpose(1, 2).flatten(2);
    x = norm(x + linear(seen, name + "attention.output.dense"), name + "attention.output.LayerNorm");
    const std::vector<at::Tensor> halves = linear(x, name + "mlp.gated_layers").chunk(2, -1);
    const at::Tensor gate = kind == "geglu" ? at::gelu(halves[0]) : at::relu(halves[0]);
    x = norm(x + linear(gate * halves[1], name + "mlp.wo"), name + "mlp.layernorm");
  }
  return x;
}

TEST(JinaBert, EqualsItsEquations) {
  const at::NoGradGuard without_gradients;
  for (const std::string kind : {"geglu", "reglu"}) {
    SCOPED_TRACE(kind);
    const test::TemporaryDirectory folder;
    save_encoder(folder / "model", jina(kind));
    models::EncoderInput input;
    input.input_ids = test::text_ids(1, 37);
    const at::Tensor expected = by_equations(folder / "model", input.input_ids, kind);
    EncoderModel loaded = load_encoder(folder / "model");
    EXPECT_EQ(loaded->config().model_type, "jina_bert");
    EXPECT_LT(test::largest_difference(loaded->forward(input).last_hidden_state, expected), 2e-5);
  }
}

TEST(JinaBert, IsToldFromBertByItsPositions) {
  const test::TemporaryDirectory folder;
  const auto read = [&](const Json& fields) {
    Json json = {{"model_type", "bert"}};
    json.update(fields);
    write_file_atomically(folder / "config.json", formats::print_json(json));
    return load_encoder_config(folder.path()).model_type;
  };
  EXPECT_EQ(read(Json::object()), "bert");
  EXPECT_EQ(read({{"position_embedding_type", "absolute"}}), "bert");
  EXPECT_EQ(read({{"position_embedding_type", "alibi"}, {"feed_forward_type", "geglu"}}), "jina_bert");
  test::expect_error(ErrorKind::kUnsupported, {"position_embedding_type", "relative_key"},
                     [&] { read({{"position_embedding_type", "relative_key"}}); });
  test::expect_error(ErrorKind::kArgument, {"config.json", "feed_forward_type", "'original'"},
                     [&] { read({{"position_embedding_type", "alibi"}}); });
  test::expect_error(ErrorKind::kUnsupported, {"config.json", "qk-post-norm"}, [&] {
    read({{"position_embedding_type", "alibi"},
          {"auto_map", {{"AutoModel", "jinaai/jina-bert-v2-qk-post-norm--modeling_bert.JinaBertModel"}}}});
  });
  save_encoder(folder / "model", jina("geglu", Head::kSequenceClassification));
  const Json written = formats::read_json(folder / "model" / "config.json");
  EXPECT_EQ(written.at("model_type"), "bert");
  EXPECT_EQ(written.at("position_embedding_type"), "alibi");
  EXPECT_EQ(written.at("feed_forward_type"), "geglu");
  EXPECT_EQ(written.at("architectures"), Json::array({"JinaBertForSequenceClassification"}));
}

}  // namespace
}  // namespace weft::checkpoint
