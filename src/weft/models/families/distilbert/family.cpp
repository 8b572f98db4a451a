// SPDX-License-Identifier: Apache-2.0
// DistilBERT (Sanh et al. 2019): half of BERT's layers, and no token types. Its pre_classifier is a pooler with relu.
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

struct DistilbertFields {
  double qa_dropout = 0.1;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    visit(
        Field{"qa_dropout", &DistilbertFields::qa_dropout, "dropout before the scores of an answer"}.range(0.0, 0.999));
  }
};

HeadPlan distilbert_head(const EncoderConfig& config) {
  HeadPlan plan = bert_head(config);
  plan.pooler_activation = "relu";
  plan.tag_dropout = config.hidden_dropout_prob;
  plan.answer_dropout = config.own.get<DistilbertFields>().qa_dropout;
  return plan;
}

EncoderRules distilbert_rules() {
  EncoderRules rules{.class_name = "DistilBert", .base_prefix = "distilbert"};
  rules.base.model_type = "distilbert";
  rules.base.num_hidden_layers = 6;
  rules.base.type_vocab_size = 1;
  rules.base.classifier_dropout = 0.2;
  rules.base.own = OwnFields(DistilbertFields{});
  rules.defaults = rules.base;
  rules.head = distilbert_head;
  rules.pooled_heads = {Head::kSequenceClassification, Head::kMultipleChoice};
  rules.head_prefixes = {"vocab_", "pre_classifier.", "classifier.", "qa_outputs."};
  rules.fields.insert(rules.fields.end(), {{"hidden_size", "dim"},
                                           {"num_hidden_layers", "n_layers"},
                                           {"num_attention_heads", "n_heads"},
                                           {"intermediate_size", "hidden_dim"},
                                           {"hidden_act", "activation"},
                                           {"hidden_dropout_prob", "dropout"},
                                           {"attention_probs_dropout_prob", "attention_dropout"},
                                           {"classifier_dropout", "seq_classif_dropout"},
                                           {"layer_norm_eps", {}},
                                           {"type_vocab_size", {}}});
  rules.names = {
      {"encoder.embeddings.tokens", {"~embeddings.word_embeddings.weight"}},
      {"encoder.embeddings.positions", {"~embeddings.position_embeddings.weight"}},
      {"encoder.embeddings.norm", {"~embeddings.LayerNorm"}},
      {"encoder.layers.#.attention.qkv",
       {"~transformer.layer.#.attention.q_lin", "~transformer.layer.#.attention.k_lin",
        "~transformer.layer.#.attention.v_lin"}},
      {"encoder.layers.#.attention.output", {"~transformer.layer.#.attention.out_lin"}},
      {"encoder.layers.#.attention_norm", {"~transformer.layer.#.sa_layer_norm"}},
      {"encoder.layers.#.feed_forward.up", {"~transformer.layer.#.ffn.lin1"}},
      {"encoder.layers.#.feed_forward.down", {"~transformer.layer.#.ffn.lin2"}},
      {"encoder.layers.#.feed_forward_norm", {"~transformer.layer.#.output_layer_norm"}},
      {"head.pooler", {"pre_classifier"}},
      {"head.dense", {"vocab_transform"}},
      {"head.norm", {"vocab_layer_norm"}},
      {"head.bias", {"vocab_projector.bias"}},
      {"head.decoder", {"vocab_projector.weight"}},
      {"head.projection", {"qa_outputs"}, Head::kQuestionAnswering},
      {"head.projection", {"classifier"}},
  };
  return rules;
}

}  // namespace

const Family& distilbert_family() {
  static const EncoderRules rules = distilbert_rules();
  static const Family family{.name = "distilbert", .model_type = "distilbert", .encoder = &rules};
  return family;
}

}  // namespace weft::models
