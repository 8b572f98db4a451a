// SPDX-License-Identifier: Apache-2.0
// ELECTRA (Clark et al. 2020): BERT whose tables may be narrower than its layers, and whose heads have gelu. What it is
// published as is a discriminator, whose head tells replaced tokens from others; the generator has one for masked
// words.
#include "weft/core/error.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

struct ElectraFields {
  std::int64_t embedding_size = 128;
  std::string summary_type = "first";
  bool summary_use_proj = true;
  std::string summary_activation = "gelu";
  double summary_last_dropout = 0.1;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ElectraFields;
    visit(Field{"embedding_size", &C::embedding_size, "width of the tables of tokens, types and positions"}.range(
        1, 1 << 18));
    visit(Field{"summary_type", &C::summary_type, "which token a choice is scored from"}.one_of({"first"}));
    visit(Field{"summary_use_proj", &C::summary_use_proj, "a choice is scored through a dense layer"});
    visit(Field{"summary_activation", &C::summary_activation, "activation behind that layer"}.one_of(
        {"gelu", "gelu_new", "relu", "silu", "tanh"}));
    visit(Field{"summary_last_dropout", &C::summary_last_dropout, "dropout behind that layer"}.range(0.0, 0.999));
  }
};

const ElectraFields& electra_of(const EncoderConfig& config) { return config.own.get<ElectraFields>(); }

void check_electra(const EncoderConfig& config, std::string_view where) {
  check_heads(config, where);
  if (!electra_of(config).summary_use_proj) {
    fail(ErrorKind::kUnsupported, where, ": summary_use_proj is false, but choices are scored through a dense layer");
  }
}

layers::EmbeddingsConfig electra_embeddings(const EncoderConfig& config) {
  layers::EmbeddingsConfig embeddings = bert_embeddings(config);
  embeddings.hidden_size = electra_of(config).embedding_size;
  embeddings.output_size = config.hidden_size;
  return embeddings;
}

HeadPlan electra_head(const EncoderConfig& config) {
  HeadPlan plan = first_token_head(config);
  plan.vocabulary_width = electra_of(config).embedding_size;
  plan.vocabulary_activation = "gelu";
  plan.class_activation = "gelu";
  plan.replaced_activation = config.hidden_act;
  plan.pooler_activation = electra_of(config).summary_activation;
  plan.choice_dropout = electra_of(config).summary_last_dropout;
  return plan;
}

void refuse_narrow(const EncoderConfig& config) {
  if (electra_of(config).embedding_size != config.hidden_size) {
    throw Error(ErrorKind::kUnsupported,
                concat("an encoder-decoder cannot start from this ", config.model_type, ": its tables have ",
                       electra_of(config).embedding_size, " columns, and those of an encoder-decoder as many as its ",
                       "layers, ", config.hidden_size),
                "start from a bert, roberta or big_bird");
  }
}

EncoderRules electra_rules() {
  EncoderRules rules;
  rules.class_name = "Electra";
  rules.base_prefix = "electra";
  rules.base.model_type = "electra";
  rules.base.own = OwnFields(ElectraFields{});
  rules.defaults = rules.base;
  rules.base.own.get<ElectraFields>().embedding_size = rules.base.hidden_size;  // of electra-base
  rules.defaults.hidden_size = 256;
  rules.defaults.num_attention_heads = 4;
  rules.defaults.intermediate_size = 1024;
  rules.own_fields_after = "vocab_size";
  rules.heads.push_back(Head::kReplacedTokens);
  rules.pretrained_head = Head::kReplacedTokens;
  rules.pooled_heads = {Head::kMultipleChoice};
  rules.head_prefixes = {"generator_predictions.", "generator_lm_head.", "discriminator_predictions.",
                         "sequence_summary.",      "classifier.",        "qa_outputs."};
  rules.names = with_encoder_names({
      {"encoder.embeddings.project", {"~embeddings_project"}},
      {"head.pooler", {"sequence_summary.summary"}},
      {"head.dense", {"generator_predictions.dense"}, Head::kMaskedLanguageModel},
      {"head.norm", {"generator_predictions.LayerNorm"}, Head::kMaskedLanguageModel},
      {"head.bias", {"generator_lm_head.bias"}, Head::kMaskedLanguageModel},
      {"head.decoder", {"generator_lm_head.weight"}, Head::kMaskedLanguageModel},
      {"head.dense", {"classifier.dense"}, Head::kSequenceClassification},
      {"head.projection", {"classifier.out_proj"}, Head::kSequenceClassification},
      {"head.projection", {"qa_outputs"}, Head::kQuestionAnswering},
      {"head.dense", {"discriminator_predictions.dense"}, Head::kReplacedTokens},
      {"head.projection", {"discriminator_predictions.dense_prediction"}, Head::kReplacedTokens},
      {"head.projection", {"classifier"}},
  });
  rules.check = check_electra;
  rules.embeddings = electra_embeddings;
  rules.head = electra_head;
  rules.check_start = refuse_narrow;
  return rules;
}

}  // namespace

const Family& electra_family() {
  static const EncoderRules rules = electra_rules();
  static const Family family{.name = "electra", .model_type = "electra", .encoder = &rules};
  return family;
}

}  // namespace weft::models
