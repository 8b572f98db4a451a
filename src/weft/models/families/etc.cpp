// SPDX-License-Identifier: Apache-2.0
// ETC (Ainslie et al. 2020): BERT that reads global tokens beside its text, one a sentence, with labels of pairs in
// place of position embeddings. The authors' checkpoints are TensorFlow's and transformers does not have it: class and
// tensors have the names that one would expect, and Weft alone reads them.
#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/families/family.h"

namespace weft::models {
namespace {

EncoderConfig etc_base() {
  EncoderConfig config;
  config.model_type = "etc";
  config.max_position_embeddings = 4096;  // a limit without a table
  config.type_vocab_size = 16;
  config.hidden_act = "gelu_new";
  config.position_embedding_type = "none";
  return config;
}

std::string etc_expression(const EncoderConfig& config, const EncoderOptions&, std::int64_t) {
  return concat("global_local(radius=", config.local_radius, ", distance=", config.relative_pos_max_distance,
                ", hard=", config.hard_edges, ")");
}

void check_etc(const EncoderConfig& config, std::string_view where) {
  const auto check = [&](const std::vector<std::int64_t>& ids, const char* name) {
    const auto wrong =
        std::find_if(ids.begin(), ids.end(), [&](std::int64_t id) { return id < 0 || id >= config.vocab_size; });
    require(wrong == ids.end(), where, ": ", name, " must be ids in [0, vocab_size = ", config.vocab_size, "), found ",
            wrong == ids.end() ? 0 : *wrong);
  };
  check(config.sentence_end_ids, "sentence_end_ids");
  check(config.paragraph_end_ids, "paragraph_end_ids");
}

std::vector<NameRow> etc_names() {
  std::vector<NameRow> names = {
      {"encoder.globals.tokens", {"~embeddings.global_embeddings.weight"}},
      {"encoder.globals.token_types", {"~embeddings.global_token_type_embeddings.weight"}},
      {"encoder.globals.norm", {"~embeddings.global_LayerNorm"}},
      {"encoder.layers.#.attention.global_output", {"~encoder.layer.#.attention.global_output.dense"}},
      {"encoder.layers.#.global_attention_norm", {"~encoder.layer.#.attention.global_output.LayerNorm"}},
      {"encoder.layers.#.attention.mechanism.labels", {"~encoder.layer.#.attention.self.relative_embeddings"}},
      {"encoder.layers.#.attention.mechanism.label_bias", {"~encoder.layer.#.attention.self.relative_bias"}},
      {"encoder.layers.#.attention.mechanism.global_labels",
       {"~encoder.layer.#.attention.self.global_relative_embeddings"}},
      {"encoder.layers.#.attention.mechanism.global_label_bias",
       {"~encoder.layer.#.attention.self.global_relative_bias"}},
  };
  const std::vector<NameRow>& of_bert = bert_family().names;
  names.insert(names.end(), of_bert.begin(), of_bert.end());
  return names;
}

EncoderFamily make_etc() {
  EncoderFamily family = bert_family();
  family.model_type = "etc";
  family.class_name = "Etc";
  family.base_prefix = "etc";
  family.base = etc_base();
  family.defaults = family.base;
  family.names = etc_names();
  family.own_fields = {"classifier_dropout", "position_embedding_type",   "global_vocab_size",
                       "local_radius",       "relative_pos_max_distance", "hard_edges",
                       "sentence_end_ids",   "paragraph_end_ids",         "max_global_tokens"};
  family.attention_fields = {"local_radius", "relative_pos_max_distance", "hard_edges"};
  family.has_global_tokens = true;
  family.check = check_etc;
  family.attention = etc_expression;
  return family;
}

}  // namespace

const EncoderFamily& etc_family() {
  static const EncoderFamily family = make_etc();
  return family;
}

}  // namespace weft::models
