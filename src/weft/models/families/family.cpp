// SPDX-License-Identifier: Apache-2.0
// The table of encoder families.
#include "weft/models/families/family.h"

#include <array>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"

namespace weft::models {

std::span<const EncoderFamily* const> encoder_families() {
  static const std::array families{&bert_family(),     &roberta_family(),         &longformer_family(),
                                   &big_bird_family(), &nystromformer_family(),   &littlebird_family(),
                                   &etc_family(),      &star_transformer_family()};
  return families;
}

const EncoderFamily& find_family(std::string_view model_type) {
  for (const EncoderFamily* family : encoder_families()) {
    if (family->model_type == model_type) {
      return *family;
    }
  }
  if (reformer_family().model_type == model_type) {
    return reformer_family();
  }
  const auto name = [](const EncoderFamily* family) { return family->model_type; };
  fail(ErrorKind::kArgument, "model_type must be one of ", joined(encoder_families(), ", ", name), ", found ",
       quote(model_type));
}

std::vector<NameRow> with_encoder_names(std::vector<NameRow> own) {
  std::vector<NameRow> names = {
      {"encoder.embeddings.tokens", {"~embeddings.word_embeddings.weight"}},
      {"encoder.embeddings.positions", {"~embeddings.position_embeddings.weight"}},
      {"encoder.embeddings.token_types", {"~embeddings.token_type_embeddings.weight"}},
      {"encoder.embeddings.norm", {"~embeddings.LayerNorm"}},
      {"encoder.layers.#.attention.qkv",
       {"~encoder.layer.#.attention.self.query", "~encoder.layer.#.attention.self.key",
        "~encoder.layer.#.attention.self.value"}},
      {"encoder.layers.#.attention.output", {"~encoder.layer.#.attention.output.dense"}},
      {"encoder.layers.#.attention_norm", {"~encoder.layer.#.attention.output.LayerNorm"}},
      {"encoder.layers.#.feed_forward.up", {"~encoder.layer.#.intermediate.dense"}},
      {"encoder.layers.#.feed_forward.down", {"~encoder.layer.#.output.dense"}},
      {"encoder.layers.#.feed_forward_norm", {"~encoder.layer.#.output.LayerNorm"}},
  };
  names.insert(names.end(), own.begin(), own.end());
  return names;
}

bool reads_pooler(const EncoderFamily& family, Head head) {
  return (head == Head::kMultipleChoice && family.classifier != Classifier::kRelay) ||
         (head == Head::kSequenceClassification && family.classifier == Classifier::kPooled);
}

void check_nothing(const EncoderConfig&, std::string_view) {}
std::string full_attention(const EncoderConfig&, const EncoderOptions&, std::int64_t) { return "full"; }
layers::SelfAttentionFactory plain_layer(const EncoderConfig&, const EncoderOptions&, bool) { return {}; }
std::int64_t never_full(const EncoderConfig&, const EncoderOptions&) { return -1; }
bool every_head(Head) { return true; }
std::string no_remark(const EncoderConfig&) { return {}; }
at::Tensor no_globals(const EncoderConfig&, Head, const at::Tensor&, const at::Tensor&) { return {}; }

}  // namespace weft::models
