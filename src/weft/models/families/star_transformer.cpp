// SPDX-License-Identifier: Apache-2.0
// Star-Transformer (Guo et al. 2019): a satellite for each token and a relay that all of them see, in place of
// transformer blocks, with the sizes and classifiers of fastNLP's STSeqCls and STSeqLabel. No directory of it was
// published and transformers does not have it: class and tensors have the names that one would expect, and Weft alone
// reads them.
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/models/families/family.h"

namespace weft::models {
namespace {

EncoderConfig star_base() {
  EncoderConfig config;
  config.model_type = "star_transformer";
  config.hidden_size = 300;
  config.num_hidden_layers = 4;
  config.num_attention_heads = 8;
  config.attention_head_size = 32;
  config.intermediate_size = 600;  // of the classifiers: a layer has no feed-forward
  config.type_vocab_size = 1;
  config.layer_norm_eps = 1e-6;
  config.attention_probs_dropout_prob = 0.0;
  // 1 / sqrt(width): without a residual a signal has to pass every matrix, and 0.02 makes it an eighth in each layer.
  config.initializer_range = 0.06;
  return config;
}

void check_star(const EncoderConfig& config, std::string_view where) {
  require(config.num_hidden_layers > 0, where, ": a star_transformer has at least one layer, found num_hidden_layers ",
          config.num_hidden_layers);
  require(config.attention_probs_dropout_prob == 0.0, where,
          ": a star_transformer drops nothing inside of its layers: expected attention_probs_dropout_prob 0, found ",
          config.attention_probs_dropout_prob);
  if (!config.attention.empty()) {
    throw Error(ErrorKind::kArgument,
                concat(where, ": attention is not for a star_transformer, which attends along its ring and relay, ",
                       "found ", quote(config.attention.front())),
                "leave attention out, or give it to a family with transformer blocks, such as bert");
  }
}

bool star_has_pooler(Head) { return false; }

std::vector<NameRow> star_names() {
  return {
      {"encoder.embeddings.tokens", {"~embeddings.word_embeddings.weight"}},
      {"encoder.embeddings.positions", {"~embeddings.position_embeddings.weight"}},
      {"encoder.embeddings.token_types", {"~embeddings.token_type_embeddings.weight"}},
      {"encoder.star.layers.#.norm", {"~encoder.layer.#.LayerNorm"}},
      {"encoder.star.layers.#.ring.query", {"~encoder.layer.#.ring.query"}},
      {"encoder.star.layers.#.ring.key_value", {"~encoder.layer.#.ring.key", "~encoder.layer.#.ring.value"}},
      {"encoder.star.layers.#.ring.output", {"~encoder.layer.#.ring.output"}},
      {"encoder.star.layers.#.relay.query", {"~encoder.layer.#.relay.query"}},
      {"encoder.star.layers.#.relay.key_value", {"~encoder.layer.#.relay.key", "~encoder.layer.#.relay.value"}},
      {"encoder.star.layers.#.relay.output", {"~encoder.layer.#.relay.output"}},
      {"head.dense", {"cls.predictions.transform.dense"}, Head::kMaskedLanguageModel},
      {"head.norm", {"cls.predictions.transform.LayerNorm"}, Head::kMaskedLanguageModel},
      {"head.bias", {"cls.predictions.bias"}, Head::kMaskedLanguageModel},
      {"head.decoder", {"cls.predictions.decoder.weight"}, Head::kMaskedLanguageModel},
      {"head.projection", {"qa_outputs"}, Head::kQuestionAnswering},
      {"head.dense", {"classifier.dense"}},
      {"head.projection", {"classifier.out_proj"}},
  };
}

EncoderFamily make_star() {
  EncoderFamily family;
  family.model_type = "star_transformer";
  family.class_name = "StarTransformer";
  family.base_prefix = "star_transformer";
  family.base = star_base();
  family.defaults = family.base;
  family.names = star_names();
  family.head_prefixes = {"cls.", "classifier.", "qa_outputs."};
  family.own_fields = {"classifier_dropout", "attention_head_size"};
  family.is_star = true;
  family.classifier = Classifier::kRelay;
  family.has_pooler = star_has_pooler;
  family.check = check_star;
  return family;
}

}  // namespace

const EncoderFamily& star_transformer_family() {
  static const EncoderFamily family = make_star();
  return family;
}

}  // namespace weft::models
