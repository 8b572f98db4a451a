// SPDX-License-Identifier: Apache-2.0
// BigBird (Zaheer et al. 2020): BERT with global, window and random blocks, and full attention where an input is too
// short for them.
#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/layers/attention/self_attention.h"
#include "weft/models/families/family.h"

namespace weft::models {
namespace {

/// The family's sparse self-attention, or full attention in a call whose rows are all too short for it.
class BigBirdAttention : public layers::SelfAttentionImpl {
 public:
  /// `full_until`: tokens of the longest row that is computed in full. `zeroes_padding`: queries that are padding give
  /// zeros where the pattern is sparse.
  BigBirdAttention(const layers::BlockConfig& block, const at::TensorOptions& options, std::int64_t full_until,
                   bool zeroes_padding)
      : SelfAttentionImpl(block, options),
        full_until_(full_until),
        zeroes_padding_(zeroes_padding),
        full_(register_module("full_mechanism", attention::make_attention("full", site_of(block), options))) {}

 protected:
  at::Tensor attend(const layers::Heads& heads, const at::Tensor& x, const layers::BlockContext& context) override {
    const attention::AttentionContext& call = context.attention;
    if (longest_row(call, x.size(1)) <= full_until_) {
      return full_->forward(heads.query, heads.key, heads.value, call);
    }
    const at::Tensor mixed = SelfAttentionImpl::attend(heads, x, context);
    return zeroes_padding_ && call.key_keep.defined()
               ? mixed * call.key_keep.to(mixed.scalar_type()).unsqueeze(1).unsqueeze(-1)
               : mixed;
  }

 private:
  static std::int64_t longest_row(const attention::AttentionContext& call, std::int64_t columns) {
    std::int64_t longest = call.rows.empty() ? columns : 0;
    for (const pattern::RowBinding& row : call.rows) {
      longest = std::max(longest, row.query_length.value_or(columns));
    }
    return longest;
  }

  std::int64_t full_until_;
  bool zeroes_padding_;
  std::shared_ptr<attention::AttentionImpl> full_;
};

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

std::int64_t block_of(const EncoderConfig& config, const EncoderOptions& options) {
  return options.block_size > 0 ? options.block_size : config.block_size;
}

std::int64_t random_of(const EncoderConfig& config, const EncoderOptions& options) {
  return options.random_blocks >= 0 ? options.random_blocks : config.num_random_blocks;
}

bool is_sparse(const EncoderConfig& config, const EncoderOptions& options) {
  return (options.attention_type.empty() ? config.attention_type : options.attention_type) == "block_sparse";
}

std::string big_bird_attention(const EncoderConfig& config, const EncoderOptions& options, std::int64_t layer) {
  if (!is_sparse(config, options)) {
    return "full";
  }
  const std::int64_t block = block_of(config, options);
  const std::int64_t random = random_of(config, options);
  std::string drawn = concat("random(", random, ", plan=\"", options.random, "\"");
  // The released code seeds a layer's draws with its number; the plan of Hugging Face's inference has none.
  drawn += options.random == "hf-eval" ? ")" : concat(", seed=", layer, ")");
  return concat("block(", block, ", global(first=1, last=1) | window(3) | ", drawn, ")");
}

/// The rule of `transformers`, for each row on its own: two global blocks, three of the window, twice the random ones.
std::int64_t big_bird_full_until(const EncoderConfig& config, const EncoderOptions& options) {
  if (!is_sparse(config, options)) {
    return -1;
  }
  return (5 + 2 * random_of(config, options)) * block_of(config, options);
}

layers::SelfAttentionFactory big_bird_layer(const EncoderConfig& config, const EncoderOptions& options, bool replaced) {
  const std::int64_t full_until = big_bird_full_until(config, options);
  if (replaced || full_until < 0) {
    return {};
  }
  return
      [full_until, padded = options.pad_like_hf](const layers::BlockConfig& block, const at::TensorOptions& storage) {
        return std::make_shared<BigBirdAttention>(block, storage, full_until, padded);
      };
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
