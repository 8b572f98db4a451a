// SPDX-License-Identifier: Apache-2.0
// Reformer (Kitaev et al. 2020) as an encoder with a head for a task: local and hashed layers between reversible
// residual connections, whose two streams end beside each other. Its stack is that of Weft's own models.
#include "weft/models/families/family.h"

namespace weft::models {
namespace {

bool reformer_has_pooler(Head) { return false; }

bool reformer_has_head(Head head) { return head != Head::kTokenClassification && head != Head::kMultipleChoice; }

// Of a decoder's head, too: there it is called head.weight.
std::vector<NameRow> reformer_names() {
  return {
      {"encoder.embeddings.tokens", {"~embeddings.word_embeddings.weight"}},
      {"encoder.embeddings.positions", {"~embeddings.position_embeddings.embedding.weight"}},
      {"encoder.embeddings.axial.rows", {"~embeddings.position_embeddings.weights.0"}},
      {"encoder.embeddings.axial.columns", {"~embeddings.position_embeddings.weights.1"}},
      {"encoder.layers.#.attention_norm", {"~encoder.layers.#.attention.layer_norm"}},
      {"encoder.layers.#.attention.qkv",
       {"~encoder.layers.#.attention.self_attention.query", "~encoder.layers.#.attention.self_attention.key",
        "~encoder.layers.#.attention.self_attention.value"}},
      {"encoder.layers.#.attention.query_key", {"~encoder.layers.#.attention.self_attention.query_key"}},
      {"encoder.layers.#.attention.value", {"~encoder.layers.#.attention.self_attention.value"}},
      {"encoder.layers.#.attention.output", {"~encoder.layers.#.attention.output.dense"}},
      {"encoder.layers.#.feed_forward_norm", {"~encoder.layers.#.feed_forward.layer_norm"}},
      {"encoder.layers.#.feed_forward.up", {"~encoder.layers.#.feed_forward.dense.dense"}},
      {"encoder.layers.#.feed_forward.down", {"~encoder.layers.#.feed_forward.output.dense"}},
      {"encoder.norm", {"~encoder.layer_norm"}},
      {"head.decoder", {"lm_head.decoder.weight"}, Head::kMaskedLanguageModel},
      {"head.weight", {"lm_head.decoder.weight"}, Head::kMaskedLanguageModel},
      {"head.bias", {"lm_head.bias"}, Head::kMaskedLanguageModel},
      {"head.dense", {"classifier.dense"}, Head::kSequenceClassification},
      {"head.projection", {"classifier.out_proj"}, Head::kSequenceClassification},
      {"head.projection", {"qa_outputs"}, Head::kQuestionAnswering},
  };
}

EncoderFamily make_reformer() {
  EncoderFamily family;
  family.model_type = "reformer";
  family.class_name = "Reformer";
  family.base_prefix = "reformer";
  family.names = reformer_names();
  family.head_prefixes = {"lm_head.", "classifier.", "qa_outputs."};
  family.own_fields = {"classifier_dropout"};
  family.base.model_type = "reformer";
  family.defaults = family.base;
  family.hidden_act_in_heads = false;
  family.dense_vocabulary = false;
  family.classifier = Classifier::kFirstToken;
  family.has_head = reformer_has_head;
  family.has_pooler = reformer_has_pooler;
  return family;
}

}  // namespace

const EncoderFamily& reformer_family() {
  static const EncoderFamily family = make_reformer();
  return family;
}

EncoderConfig reformer_config(const TransformerConfig& body) {
  EncoderConfig config;
  config.model_type = reformer_family().model_type;
  config.vocab_size = body.vocab_size;
  config.hidden_size = body.hidden_size;
  config.num_hidden_layers = body.num_hidden_layers;
  config.num_attention_heads = body.num_attention_heads;
  config.intermediate_size = body.feed_forward_size();
  config.max_position_embeddings = body.max_position_embeddings;
  config.type_vocab_size = 1;
  config.sep_token_id = -1;
  config.layer_norm_eps = body.layer_norm_eps;
  config.hidden_dropout_prob = body.hidden_dropout_prob;
  config.attention_probs_dropout_prob = body.attention_probs_dropout_prob;
  config.initializer_range = body.initializer_range;
  config.tie_word_embeddings = body.tie_word_embeddings;
  config.directory = body.directory;
  config.body = body;
  return config;
}

}  // namespace weft::models
