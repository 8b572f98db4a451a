// SPDX-License-Identifier: Apache-2.0
// MPNet (Song et al. 2020): BERT without token types, with RoBERTa's positions and, in each score, a learned number for
// the distance, as T5 has it.
#include "weft/core/error.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

// transformers computes with these, whatever the config says.
constexpr std::int64_t kPadding = 1;
constexpr attention::DistanceBuckets kBuckets{.count = 32, .farthest = 128};

struct MpnetFields {
  std::int64_t relative_attention_num_buckets = kBuckets.count;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    visit(Field{"relative_attention_num_buckets", &MpnetFields::relative_attention_num_buckets,
                "rows of the table of distances"}
              .range(1, 1 << 16));
  }
};

void check_mpnet(const EncoderConfig& config, std::string_view where) {
  check_heads(config, where);
  const std::int64_t buckets = config.own.get<MpnetFields>().relative_attention_num_buckets;
  require(buckets == kBuckets.count, where, ": relative_attention_num_buckets must be ", kBuckets.count,
          ", with which an mpnet computes in any case, found ", buckets);
  require(config.pad_token_id == kPadding, where, ": pad_token_id must be ", kPadding,
          ", behind which an mpnet counts its positions in any case, found ", config.pad_token_id);
}

StackConfig mpnet_stack(const EncoderConfig& config, const EncoderOptions& options) {
  StackConfig stack = transformer_stack(config, options);
  for (layers::BlockConfig& block : stack.blocks) {
    block.distance_buckets = kBuckets;
  }
  return stack;
}

void refuse_mpnet(const EncoderConfig& config) {
  refuse_start(config, "its scores know distances, and those of an encoder-decoder with a table of positions do not");
}

EncoderRules mpnet_rules() {
  EncoderRules rules = *roberta_family().encoder;
  rules.class_name = "MPNet";
  rules.base_prefix = "mpnet";
  rules.base.model_type = "mpnet";
  rules.base.vocab_size = 30527;
  rules.base.own = OwnFields(MpnetFields{});
  rules.defaults = rules.base;
  rules.defaults.max_position_embeddings = 512;
  rules.defaults.layer_norm_eps = 1e-12;
  rules.fields = {
      {"sep_token_id", {}}, {"position_embedding_type", {}}, {"type_vocab_size", {}}, {"classifier_dropout", {}}};
  rules.idle_names.emplace_back("encoder.relative_attention_bias.");  // of a model without layers
  rules.names.insert(
      rules.names.begin(),
      {{"encoder.layers.#.attention.mechanism.distance_biases", {"~encoder.relative_attention_bias.weight"}},
       {"encoder.layers.#.attention.qkv",
        {"~encoder.layer.#.attention.attn.q", "~encoder.layer.#.attention.attn.k",
         "~encoder.layer.#.attention.attn.v"}},
       {"encoder.layers.#.attention.output", {"~encoder.layer.#.attention.attn.o"}},
       {"encoder.layers.#.attention_norm", {"~encoder.layer.#.attention.LayerNorm"}}});
  rules.check = check_mpnet;
  rules.stack = mpnet_stack;
  rules.check_start = refuse_mpnet;
  return rules;
}

}  // namespace

const Family& mpnet_family() {
  static const EncoderRules rules = mpnet_rules();
  static const Family family{.name = "mpnet", .model_type = "mpnet", .encoder = &rules};
  return family;
}

}  // namespace weft::models
