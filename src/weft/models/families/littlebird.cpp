// SPDX-License-Identifier: Apache-2.0
// LittleBird (Lee, Han and Shin 2022): BERT whose layers pack the text into latents and attend to these and to a
// window, with learned slopes for distances in place of position embeddings. No directory of it was published and
// transformers does not have it: class and tensors have the names that one would expect, and Weft alone reads them.
#include "weft/core/error.h"
#include "weft/models/families/family.h"

namespace weft::models {
namespace {

EncoderConfig littlebird_base() {
  EncoderConfig config;
  config.model_type = "littlebird";
  config.max_position_embeddings = 4096;  // a limit without a table
  config.position_embedding_type = "none";
  return config;
}

std::string littlebird_attention(const EncoderConfig& config, const EncoderOptions&, std::int64_t) {
  return concat("little_bird(block=", config.block_size, ", latents=", config.num_latents, ")");
}

std::vector<NameRow> littlebird_names() {
  std::vector<NameRow> names = {
      {"encoder.latents", {"~embeddings.latents"}},
      {"encoder.layers.#.pack.query", {"~encoder.layer.#.pack.self.query"}},
      {"encoder.layers.#.pack.key_value", {"~encoder.layer.#.pack.self.key_value"}},
      {"encoder.layers.#.pack.output", {"~encoder.layer.#.pack.output.dense"}},
      {"encoder.layers.#.pack_norm", {"~encoder.layer.#.pack.output.LayerNorm"}},
      {"encoder.layers.#.attention.mechanism.alpha", {"~encoder.layer.#.attention.self.alpha"}},
      {"encoder.layers.#.attention.mechanism.beta", {"~encoder.layer.#.attention.self.beta"}},
      {"encoder.layers.#.attention.mechanism.gamma", {"~encoder.layer.#.attention.self.gamma"}},
  };
  const std::vector<NameRow>& of_bert = bert_family().names;
  names.insert(names.end(), of_bert.begin(), of_bert.end());
  return names;
}

EncoderFamily make_littlebird() {
  EncoderFamily family = bert_family();
  family.model_type = "littlebird";
  family.class_name = "LittleBird";
  family.base_prefix = "littlebird";
  family.base = littlebird_base();
  family.defaults = family.base;
  family.names = littlebird_names();
  family.own_fields = {"classifier_dropout", "position_embedding_type", "block_size", "num_latents"};
  family.attention_fields = {"block_size", "num_latents"};
  family.attention = littlebird_attention;
  return family;
}

}  // namespace

const EncoderFamily& littlebird_family() {
  static const EncoderFamily family = make_littlebird();
  return family;
}

}  // namespace weft::models
