// SPDX-License-Identifier: Apache-2.0
// Nystromformer (Xiong et al. 2021): BERT whose layers attend through landmarks and add a convolution of the values;
// as released, with softmax over all pairs in place of the landmarks.
#include "weft/core/error.h"
#include "weft/models/families/family.h"

namespace weft::models {
namespace {

// Positions begin behind two rows that no token has.
constexpr std::int64_t kFirstPosition = 2;

bool has_choice_layer(Head head) { return head == Head::kMultipleChoice; }

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
  return config;
}

// The rule of transformers, whatever the length of the input.
bool sees_all_pairs(const EncoderConfig& config) { return config.num_landmarks == config.segment_means_seq_len; }

std::string landmark_attention(const EncoderConfig& config, const EncoderOptions& options, std::int64_t) {
  const std::int64_t convolution = config.conv_kernel_size > 0 ? config.conv_kernel_size : 0;
  if (sees_all_pairs(config)) {
    return concat("nystrom(landmarks=0, conv=", convolution, ")");
  }
  // The numbers of transformers for each text alone; with pad_like_hf those that it has for a batch.
  const char* guess = config.inv_coeff_init_option ? "exact" : options.pad_like_hf ? "released" : "text";
  return concat("nystrom(landmarks=", config.num_landmarks, ", init=", guess, ", conv=", convolution, ")");
}

std::string why_all_pairs(const EncoderConfig& config) {
  return sees_all_pairs(config)
             ? concat("num_landmarks and segment_means_seq_len are both ", config.num_landmarks,
                      ": softmax over all pairs and the convolution, without landmarks, as in transformers")
             : std::string();
}

void check_nystromformer(const EncoderConfig& config, std::string_view where) {
  require(config.conv_kernel_size == -1 || config.conv_kernel_size % 2 == 1, where,
          ": conv_kernel_size must be odd, or -1 (null in config.json) for no convolution, found ",
          config.conv_kernel_size);
}

std::vector<NameRow> nystromformer_names() {
  return with_encoder_names({
      {.weft = "encoder.layers.#.attention.mechanism.convolution",
       .parts = {"~encoder.layer.#.attention.self.conv.weight"},
       .ones = {1, 3}},
      {"head.pooler", {"pre_classifier"}},
      {"head.dense", {"cls.predictions.transform.dense"}, Head::kMaskedLanguageModel},
      {"head.norm", {"cls.predictions.transform.LayerNorm"}, Head::kMaskedLanguageModel},
      {"head.bias", {"cls.predictions.bias"}, Head::kMaskedLanguageModel},
      {"head.decoder", {"cls.predictions.decoder.weight"}, Head::kMaskedLanguageModel},
      {"head.dense", {"classifier.dense"}, Head::kSequenceClassification},
      {"head.projection", {"classifier.out_proj"}, Head::kSequenceClassification},
      {"head.projection", {"qa_outputs"}, Head::kQuestionAnswering},
      {"head.projection", {"classifier"}},
  });
}

EncoderFamily make_nystromformer() {
  EncoderFamily family = bert_family();
  family.model_type = "nystromformer";
  family.class_name = "Nystromformer";
  family.base_prefix = "nystromformer";
  family.base = nystromformer_base();
  family.defaults = family.base;
  family.names = nystromformer_names();
  family.head_prefixes = {"cls.", "classifier.", "qa_outputs.", "pre_classifier."};
  family.own_fields = {"num_landmarks", "segment_means_seq_len", "conv_kernel_size", "inv_coeff_init_option"};
  family.attention_fields = family.own_fields;
  family.position_offset = kFirstPosition;
  family.drops_by_classifier = false;
  family.relu_pooler = true;
  family.classifier = Classifier::kFirstToken;
  family.has_pooler = has_choice_layer;
  family.check = check_nystromformer;
  family.attention = landmark_attention;
  family.always_full = why_all_pairs;
  return family;
}

}  // namespace

const EncoderFamily& nystromformer_family() {
  static const EncoderFamily family = make_nystromformer();
  return family;
}

}  // namespace weft::models
