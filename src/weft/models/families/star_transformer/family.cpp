// SPDX-License-Identifier: Apache-2.0
// Star-Transformer (Guo et al. 2019): a satellite for each token and a relay that all of them see, in place of
// transformer blocks, with the sizes and classifiers of fastNLP's STSeqCls and STSeqLabel. No directory of it was
// published and transformers does not have it: class and tensors have the names that one would expect, and Weft alone
// reads them.
#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/layers/blocks/star_block.h"
#include "weft/models/families/bert/names.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/rows.h"
#include "weft/models/families/star_transformer/config.h"

namespace weft::models {
namespace {

EncoderConfig star_base() {
  EncoderConfig config;
  config.model_type = "star_transformer";
  config.hidden_size = 300;
  config.num_hidden_layers = 4;
  config.num_attention_heads = 8;
  config.intermediate_size = 600;  // of the classifiers: a layer has no feed-forward
  config.type_vocab_size = 1;
  config.layer_norm_eps = 1e-6;
  config.attention_probs_dropout_prob = 0.0;
  // 1 / sqrt(width): without a residual a signal has to pass every matrix, and 0.02 makes it an eighth in each layer.
  config.initializer_range = 0.06;
  config.own = OwnFields(StarFields{});
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

layers::EmbeddingsConfig star_embeddings(const EncoderConfig& config) {
  layers::EmbeddingsConfig embeddings = bert_embeddings(config);
  embeddings.norm.reset();
  embeddings.token_types = config.type_vocab_size == 1 ? 0 : config.type_vocab_size;
  return embeddings;
}

StackConfig star_stack(const EncoderConfig& config, const EncoderOptions&) {
  StackConfig stack;
  stack.embeddings = star_embeddings(config);
  layers::BlockConfig block;
  block.make = layers::star_block();
  block.attention.clear();
  block.hidden_size = config.hidden_size;
  block.heads = block.key_value_heads = config.num_attention_heads;
  block.head_size = config.own.get<StarFields>().attention_head_size;
  block.norm.epsilon = config.layer_norm_eps;
  stack.blocks_module = "star.layers";
  stack.blocks.assign(static_cast<std::size_t>(config.num_hidden_layers), block);
  return stack;
}

HeadPlan star_head(const EncoderConfig& config) {
  HeadPlan plan = bert_head(config);
  plan.classifier = Classifier::kRelay;
  return plan;
}

/// Queries, the keys and values of the five things that a token sees, and sums: 13 times the columns of the heads in
/// float32, and as much as 17 times in bfloat16. Keys and values are computed thrice: of the ring's tokens, of their
/// embeddings, and of the tokens as the relay sees them.
Costs star_costs(const EncoderConfig& config) {
  constexpr std::int64_t kRows = 17;
  const std::int64_t width = config.hidden_size;
  const std::int64_t columns = config.num_attention_heads * config.own.get<StarFields>().attention_head_size;
  return {std::max(config.intermediate_size, kRows * columns),
          {{width, columns}, {width, 2 * columns}, {width, 2 * columns}, {width, 2 * columns}, {columns, width}}};
}

void refuse_star(const EncoderConfig& config) {
  refuse_start(config, "its layers are no transformer blocks, and those of an encoder-decoder are");
}

std::vector<NameRow> star_names() {
  return with_masked_lm_names({
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
      {"head.projection", {"qa_outputs"}, Head::kQuestionAnswering},
      {"head.dense", {"classifier.dense"}},
      {"head.projection", {"classifier.out_proj"}},
  });
}

EncoderRules star_rules() {
  EncoderRules rules;
  rules.class_name = "StarTransformer";
  rules.base_prefix = "star_transformer";
  rules.base = star_base();
  rules.defaults = rules.base;
  rules.names = star_names();
  rules.head_prefixes = {"cls.", "classifier.", "qa_outputs."};
  rules.own_fields_after = "num_attention_heads";
  rules.embeddings = star_embeddings;
  rules.stack = star_stack;
  rules.head = star_head;
  rules.costs = star_costs;
  rules.check_start = refuse_star;
  rules.check = check_star;
  return rules;
}

}  // namespace

const Family& star_transformer_family() {
  static const EncoderRules rules = star_rules();
  static const Family family{.name = "star_transformer", .model_type = "star_transformer", .encoder = &rules};
  return family;
}

}  // namespace weft::models
