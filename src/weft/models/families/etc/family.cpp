// SPDX-License-Identifier: Apache-2.0
// ETC (Ainslie et al. 2020): BERT whose layers carry global tokens along, companions of the text, one a sentence, with
// labels of pairs in place of position embeddings. The authors' checkpoints are TensorFlow's and transformers does not
// have it: class and tensors have the names that one would expect, and Weft alone reads them.
#include <algorithm>

#include "weft/core/error.h"
#include "weft/layers/etc/etc_companions.h"
#include "weft/models/families/bert/names.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/etc/config.h"
#include "weft/models/families/etc/first_values.h"
#include "weft/models/families/etc/global_tokens.h"
#include "weft/models/families/rows.h"
#include "weft/text/sentences/sentence_ends.h"

namespace weft::models {
namespace {

EncoderConfig etc_base() {
  EncoderConfig config;
  config.model_type = "etc";
  config.max_position_embeddings = 4096;  // a limit without a table
  config.type_vocab_size = 16;
  config.hidden_act = "gelu_new";
  config.position_embedding_type = "none";
  config.own = OwnFields(EtcFields{});
  return config;
}

std::string etc_expression(const EncoderConfig& config, const EncoderOptions&, std::int64_t) {
  const auto& own = config.own.get<EtcFields>();
  return concat("global_local(radius=", own.local_radius, ", distance=", own.relative_pos_max_distance,
                ", hard=", own.hard_edges, ")");
}

/// Global tokens have a table, token types and a norm of their own.
StackConfig etc_stack(const EncoderConfig& config, const EncoderOptions& options) {
  StackConfig stack = transformer_stack(config, options);
  layers::EmbeddingsConfig globals = stack.embeddings;
  globals.vocab_size = config.own.get<EtcFields>().global_vocab_size;
  globals.padding_id = -1;  // what a number stands for is the caller's choice
  stack.companions = layers::etc_companions(globals);
  return stack;
}

void fit_etc(EncoderConfig& config, const text::HuggingFaceTokenizer& tokenizer, const formats::Json& given) {
  if (!given.contains("sentence_end_ids")) {
    config.own.get<EtcFields>().sentence_end_ids = text::sentence_end_ids(tokenizer);
  }
}

void check_etc(const EncoderConfig& config, std::string_view where) {
  check_heads(config, where);
  const auto& own = config.own.get<EtcFields>();
  const auto check = [&](const std::vector<std::int64_t>& ids, const char* name) {
    const auto wrong =
        std::find_if(ids.begin(), ids.end(), [&](std::int64_t id) { return id < 0 || id >= config.vocab_size; });
    require(wrong == ids.end(), where, ": ", name, " must be ids in [0, vocab_size = ", config.vocab_size, "), found ",
            wrong == ids.end() ? 0 : *wrong);
  };
  check(own.sentence_end_ids, "sentence_end_ids");
  check(own.paragraph_end_ids, "paragraph_end_ids");
}

std::vector<NameRow> etc_names() {
  return with_bert_names({
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
  });
}

EncoderRules etc_rules() {
  EncoderRules rules = *bert_family().encoder;
  rules.class_name = "Etc";
  rules.base_prefix = "etc";
  rules.base = etc_base();
  rules.defaults = rules.base;
  rules.names = etc_names();
  rules.attention_fields = {"local_radius", "relative_pos_max_distance", "hard_edges"};
  rules.adapt = adapt_nothing;
  rules.check = check_etc;
  rules.attention = etc_expression;
  rules.stack = etc_stack;
  rules.complete = add_global_tokens;
  rules.structure = structure_by_rule;
  rules.fit = fit_etc;
  rules.first_value = first_value_of_etc;
  return rules;
}

}  // namespace

const Family& etc_family() {
  static const EncoderRules rules = etc_rules();
  static const Family family{.name = "etc", .model_type = "etc", .encoder = &rules};
  return family;
}

}  // namespace weft::models
