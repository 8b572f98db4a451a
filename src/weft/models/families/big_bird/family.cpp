// SPDX-License-Identifier: Apache-2.0
// BigBird (Zaheer et al. 2020): BERT with global, window and random blocks, and full attention where an input is too
// short for them.
#include <algorithm>
#include <cmath>

#include "weft/models/encoder/block_sparse.h"
#include "weft/models/families/bert/names.h"
#include "weft/models/families/big_bird/answer_call.h"
#include "weft/models/families/big_bird/config.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/replaced_attention.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

EncoderConfig big_bird_base() {
  EncoderConfig config;
  config.model_type = "big_bird";
  config.vocab_size = 50358;
  config.max_position_embeddings = 4096;
  config.hidden_act = "gelu_new";
  config.bos_token_id = 1;
  config.eos_token_id = 2;
  config.sep_token_id = 66;
  config.own = OwnFields(BigBirdFields{});
  return config;
}

BlockSparse sparse_of(const EncoderConfig& config, const EncoderOptions& options) {
  return block_sparse(config.own.get<BigBirdFields>(), options);
}

std::string big_bird_attention(const EncoderConfig& config, const EncoderOptions& options, std::int64_t layer) {
  return block_sparse_pattern(sparse_of(config, options), layer);
}

PassSettings big_bird_passes(const EncoderConfig& config, const EncoderOptions& options) {
  const BlockSparse sparse = sparse_of(config, options);
  PassSettings settings = one_pass(config, options);
  settings.full_until = replacing_attention(config, options, 0).empty() ? sparse.full_until() : -1;
  settings.random = options.random;
  settings.block = sparse.block;
  return settings;
}

layers::EmbeddingsConfig big_bird_embeddings(const EncoderConfig& config) {
  layers::EmbeddingsConfig embeddings = bert_embeddings(config);
  embeddings.dropout_before_norm = true;
  if (config.own.get<BigBirdFields>().rescale_embeddings) {
    embeddings.token_scale = std::sqrt(static_cast<double>(config.hidden_size));
  }
  return embeddings;
}

StackConfig big_bird_stack(const EncoderConfig& config, const EncoderOptions& options) {
  StackConfig stack = transformer_stack(config, options);
  for (layers::BlockConfig& block : stack.blocks) {
    block.qkv_bias = config.own.get<BigBirdFields>().use_bias;
  }
  return stack;
}

HeadPlan big_bird_head(const EncoderConfig& config) {
  HeadPlan plan = first_token_head(config);
  plan.answers = Answers::kFeedForward;
  plan.answer_dropout = config.hidden_dropout_prob;
  return plan;
}

/// A question is told from its text by the token type.
void adapt_big_bird(EncoderConfig& config) {
  config.type_vocab_size = std::max<std::int64_t>(2, config.type_vocab_size);
}

layers::SelfAttentionFactory big_bird_layer(const EncoderConfig& config, const EncoderOptions& options, bool replaced) {
  return replaced ? layers::SelfAttentionFactory() : block_sparse_layer(sparse_of(config, options));
}

std::vector<NameRow> big_bird_names() {
  return with_encoder_names(with_masked_lm_names({
      {"head.pooler", {"~pooler"}},
      {"head.dense", {"classifier.dense"}, Head::kSequenceClassification},
      {"head.projection", {"classifier.out_proj"}, Head::kSequenceClassification},
      {"head.feed_forward.up", {"qa_classifier.intermediate.dense"}, Head::kQuestionAnswering},
      {"head.feed_forward.down", {"qa_classifier.output.dense"}, Head::kQuestionAnswering},
      {"head.norm", {"qa_classifier.output.LayerNorm"}, Head::kQuestionAnswering},
      {"head.projection", {"qa_classifier.qa_outputs"}, Head::kQuestionAnswering},
      {"head.projection", {"classifier"}},
  }));
}

EncoderRules big_bird_rules() {
  EncoderRules rules = *bert_family().encoder;
  rules.class_name = "BigBird";
  rules.base_prefix = "bert";
  rules.base = big_bird_base();
  rules.defaults = rules.base;
  rules.names = big_bird_names();
  rules.fields = {{"position_embedding_type", {}}};
  rules.attention_fields = {"attention_type", "block_size", "num_random_blocks"};
  rules.pooled_heads = rules.heads;
  std::erase(rules.pooled_heads, Head::kQuestionAnswering);
  rules.embeddings = big_bird_embeddings;
  rules.attention = big_bird_attention;
  rules.self_attention = big_bird_layer;
  rules.stack = big_bird_stack;
  rules.head = big_bird_head;
  rules.passes = big_bird_passes;
  rules.complete = complete_answer;
  rules.adapt = adapt_big_bird;
  return rules;
}

}  // namespace

const Family& big_bird_family() {
  static const EncoderRules rules = big_bird_rules();
  static const Family family{.name = "big_bird", .model_type = "big_bird", .encoder = &rules};
  return family;
}

}  // namespace weft::models
