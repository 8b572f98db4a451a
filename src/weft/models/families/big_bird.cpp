// SPDX-License-Identifier: Apache-2.0
// BigBird (Zaheer et al. 2020): BERT with global, window and random blocks, and full attention where an input is too
// short for them.
#include "weft/models/encoder/block_sparse.h"
#include "weft/models/families/family.h"

namespace weft::models {
namespace {

bool big_bird_has_pooler(Head head) { return head != Head::kQuestionAnswering; }

EncoderConfig big_bird_base() {
  EncoderConfig config;
  config.model_type = "big_bird";
  config.vocab_size = 50358;
  config.max_position_embeddings = 4096;
  config.hidden_act = "gelu_new";
  config.bos_token_id = 1;
  config.eos_token_id = 2;
  config.sep_token_id = 66;
  return config;
}

BlockSparse sparse_of(const EncoderConfig& config, const EncoderOptions& options) {
  return block_sparse({config.attention_type, config.block_size, config.num_random_blocks}, options);
}

std::string big_bird_attention(const EncoderConfig& config, const EncoderOptions& options, std::int64_t layer) {
  return block_sparse_pattern(sparse_of(config, options), layer);
}

std::int64_t big_bird_full_until(const EncoderConfig& config, const EncoderOptions& options) {
  return sparse_of(config, options).full_until();
}

layers::SelfAttentionFactory big_bird_layer(const EncoderConfig& config, const EncoderOptions& options, bool replaced) {
  return replaced ? layers::SelfAttentionFactory() : block_sparse_layer(sparse_of(config, options));
}

std::vector<NameRow> big_bird_names() {
  return with_encoder_names({
      {"head.pooler", {"~pooler"}},
      {"head.dense", {"cls.predictions.transform.dense"}, Head::kMaskedLanguageModel},
      {"head.norm", {"cls.predictions.transform.LayerNorm"}, Head::kMaskedLanguageModel},
      {"head.bias", {"cls.predictions.bias"}, Head::kMaskedLanguageModel},
      {"head.decoder", {"cls.predictions.decoder.weight"}, Head::kMaskedLanguageModel},
      {"head.dense", {"classifier.dense"}, Head::kSequenceClassification},
      {"head.projection", {"classifier.out_proj"}, Head::kSequenceClassification},
      {"head.feed_forward.up", {"qa_classifier.intermediate.dense"}, Head::kQuestionAnswering},
      {"head.feed_forward.down", {"qa_classifier.output.dense"}, Head::kQuestionAnswering},
      {"head.norm", {"qa_classifier.output.LayerNorm"}, Head::kQuestionAnswering},
      {"head.projection", {"qa_classifier.qa_outputs"}, Head::kQuestionAnswering},
      {"head.projection", {"classifier"}},
  });
}

EncoderFamily make_big_bird() {
  EncoderFamily family = bert_family();
  family.model_type = "big_bird";
  family.class_name = "BigBird";
  family.base_prefix = "bert";
  family.base = big_bird_base();
  family.defaults = family.base;
  family.dropout_before_norm = true;
  family.deep_answers = true;
  family.classifier = Classifier::kFirstToken;
  family.names = big_bird_names();
  family.own_fields = {"attention_type",     "block_size",   "num_random_blocks", "use_bias",
                       "rescale_embeddings", "sep_token_id", "classifier_dropout"};
  family.attention_fields = {"attention_type", "block_size", "num_random_blocks"};
  family.has_pooler = big_bird_has_pooler;
  family.attention = big_bird_attention;
  family.self_attention = big_bird_layer;
  family.full_until = big_bird_full_until;
  return family;
}

}  // namespace

const EncoderFamily& big_bird_family() {
  static const EncoderFamily family = make_big_bird();
  return family;
}

}  // namespace weft::models
