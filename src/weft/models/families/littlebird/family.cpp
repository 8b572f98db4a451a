// SPDX-License-Identifier: Apache-2.0
// LittleBird (Lee, Han and Shin 2022): BERT whose layers pack the text into latents and attend to these and to a
// window, with learned slopes for distances in place of position embeddings. No directory of it was published and
// transformers does not have it: class and tensors have the names that one would expect, and Weft alone reads them.
#include "weft/core/error.h"
#include "weft/models/families/bert/names.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/littlebird/config.h"
#include "weft/models/families/littlebird/first_values.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

EncoderConfig littlebird_base() {
  EncoderConfig config;
  config.model_type = "littlebird";
  config.max_position_embeddings = 4096;  // a limit without a table
  config.position_embedding_type = "none";
  config.own = OwnFields(LittleBirdFields{});
  return config;
}

std::string littlebird_attention(const EncoderConfig& config, const EncoderOptions&, std::int64_t) {
  const auto& own = config.own.get<LittleBirdFields>();
  return concat("little_bird(block=", own.block_size, ", latents=", own.num_latents, ")");
}

std::vector<NameRow> littlebird_names() {
  return with_bert_names({
      {"encoder.latents", {"~embeddings.latents"}},
      {"encoder.layers.#.pack.query", {"~encoder.layer.#.pack.self.query"}},
      {"encoder.layers.#.pack.key_value", {"~encoder.layer.#.pack.self.key_value"}},
      {"encoder.layers.#.pack.output", {"~encoder.layer.#.pack.output.dense"}},
      {"encoder.layers.#.pack_norm", {"~encoder.layer.#.pack.output.LayerNorm"}},
      {"encoder.layers.#.attention.mechanism.alpha", {"~encoder.layer.#.attention.self.alpha"}},
      {"encoder.layers.#.attention.mechanism.beta", {"~encoder.layer.#.attention.self.beta"}},
      {"encoder.layers.#.attention.mechanism.gamma", {"~encoder.layer.#.attention.self.gamma"}},
  });
}

EncoderRules littlebird_rules() {
  EncoderRules rules = *bert_family().encoder;
  rules.class_name = "LittleBird";
  rules.base_prefix = "littlebird";
  rules.base = littlebird_base();
  rules.defaults = rules.base;
  rules.names = littlebird_names();
  rules.attention_fields = {"block_size", "num_latents"};
  rules.adapt = adapt_nothing;
  rules.attention = littlebird_attention;
  rules.first_value = first_value_of_littlebird;
  return rules;
}

}  // namespace

const Family& littlebird_family() {
  static const EncoderRules rules = littlebird_rules();
  static const Family family{.name = "littlebird", .model_type = "littlebird", .encoder = &rules};
  return family;
}

}  // namespace weft::models
