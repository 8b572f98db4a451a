// SPDX-License-Identifier: Apache-2.0
// Nystromformer (Xiong et al. 2021): BERT whose layers attend through landmarks and add a convolution of the values;
// as released, with softmax over all pairs in place of the landmarks.
#include "weft/core/error.h"
#include "weft/models/families/bert/names.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/nystromformer/config.h"
#include "weft/models/families/replaced_attention.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

// Positions begin behind two rows that no token has.
constexpr std::int64_t kFirstPosition = 2;

EncoderConfig nystromformer_base() {
  EncoderConfig config;
  config.model_type = "nystromformer";
  config.vocab_size = 30000;
  config.max_position_embeddings = 510;
  config.hidden_act = "gelu_new";
  config.layer_norm_eps = 1e-5;
  config.pad_token_id = 1;
  config.bos_token_id = 0;
  config.eos_token_id = 2;
  config.own = OwnFields(NystromformerFields{});
  return config;
}

layers::EmbeddingsConfig nystromformer_embeddings(const EncoderConfig& config) {
  layers::EmbeddingsConfig embeddings = bert_embeddings(config);
  embeddings.position_offset = kFirstPosition;
  return embeddings;
}

std::string landmark_attention(const EncoderConfig& config, const EncoderOptions& options, std::int64_t) {
  const auto& own = config.own.get<NystromformerFields>();
  const std::int64_t convolution = own.conv_kernel_size > 0 ? own.conv_kernel_size : 0;
  if (own.sees_all_pairs()) {
    return concat("nystrom(landmarks=0, conv=", convolution, ")");
  }
  // The numbers of transformers for each text alone; with pad_like_hf those that it has for a batch.
  const char* guess = own.inv_coeff_init_option ? "exact" : options.pad_like_hf ? "released" : "text";
  return concat("nystrom(landmarks=", own.num_landmarks, ", init=", guess, ", conv=", convolution, ")");
}

PassSettings nystromformer_passes(const EncoderConfig& config, const EncoderOptions& options) {
  const auto& own = config.own.get<NystromformerFields>();
  PassSettings settings = one_pass(config, options);
  if (own.sees_all_pairs() && replacing_attention(config, options, 0).empty()) {
    settings.always_full =
        concat("num_landmarks and segment_means_seq_len are both ", own.num_landmarks,
               ": softmax over all pairs and the convolution, without landmarks, as in transformers");
  }
  return settings;
}

/// Choices are scored from the first token through relu, and nothing is dropped there.
HeadPlan nystromformer_head(const EncoderConfig& config) {
  HeadPlan plan = first_token_head(config);
  plan.pooler_activation = "relu";
  plan.choice_dropout = 0.0;
  return plan;
}

void refuse_nystromformer(const EncoderConfig& config) {
  throw Error(ErrorKind::kUnsupported,
              concat("an encoder-decoder cannot start from a ", config.model_type,
                     ": its positions begin behind the first rows of their table, and decoder layers have no place ",
                     "for its convolutions"),
              "start from a bert or roberta");
}

void check_nystromformer(const EncoderConfig& config, std::string_view where) {
  check_heads(config, where);
  const std::int64_t convolution = config.own.get<NystromformerFields>().conv_kernel_size;
  require(convolution == -1 || convolution % 2 == 1, where,
          ": conv_kernel_size must be odd, or -1 (null in config.json) for no convolution, found ", convolution);
}

std::vector<NameRow> nystromformer_names() {
  return with_encoder_names(with_masked_lm_names({
      {.weft = "encoder.layers.#.attention.mechanism.convolution",
       .parts = {"~encoder.layer.#.attention.self.conv.weight"},
       .ones = {1, 3}},
      {"head.pooler", {"pre_classifier"}},
      {"head.dense", {"classifier.dense"}, Head::kSequenceClassification},
      {"head.projection", {"classifier.out_proj"}, Head::kSequenceClassification},
      {"head.projection", {"qa_outputs"}, Head::kQuestionAnswering},
      {"head.projection", {"classifier"}},
  }));
}

EncoderRules nystromformer_rules() {
  EncoderRules rules = *bert_family().encoder;
  rules.class_name = "Nystromformer";
  rules.base_prefix = "nystromformer";
  rules.base = nystromformer_base();
  rules.defaults = rules.base;
  rules.names = nystromformer_names();
  rules.head_prefixes = {"cls.", "classifier.", "qa_outputs.", "pre_classifier."};
  rules.fields = {{"sep_token_id", {}}, {"position_embedding_type", {}}, {"classifier_dropout", {}}};
  rules.attention_fields = {"num_landmarks", "segment_means_seq_len", "conv_kernel_size", "inv_coeff_init_option"};
  rules.pooled_heads = {Head::kMultipleChoice};
  rules.embeddings = nystromformer_embeddings;
  rules.head = nystromformer_head;
  rules.passes = nystromformer_passes;
  rules.check = check_nystromformer;
  rules.attention = landmark_attention;
  rules.check_start = refuse_nystromformer;
  return rules;
}

}  // namespace

const Family& nystromformer_family() {
  static const EncoderRules rules = nystromformer_rules();
  static const Family family{.name = "nystromformer", .model_type = "nystromformer", .encoder = &rules};
  return family;
}

}  // namespace weft::models
