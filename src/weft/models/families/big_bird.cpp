// SPDX-License-Identifier: Apache-2.0
// BigBird (Zaheer et al. 2020): BERT with global, window and random blocks, and full attention where an input is too
// short for them.
#include <limits>

#include "weft/core/error.h"
#include "weft/core/quote.h"
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
  family.has_pooler = big_bird_has_pooler;
  family.attention = big_bird_attention;
  family.full_until = big_bird_full_until;
  return family;
}

}  // namespace

const EncoderFamily& big_bird_family() {
  static const EncoderFamily family = make_big_bird();
  return family;
}

}  // namespace weft::models
