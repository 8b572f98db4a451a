// SPDX-License-Identifier: Apache-2.0
// Encoders small enough for tests.
#pragma once

#include <string>

#include <ATen/ops/randint.h>
#include <torch/utils.h>

#include "weft/models/encoder_model.h"

namespace weft::test {

/// Two layers of width 16 with 4 tokens a block or window, 6 landmarks, 4 latents, sentences that end behind the ids 5
/// and 9, no dropout, large weights so that every part shows.
inline models::EncoderConfig small_encoder_config(const std::string& family) {
  models::EncoderConfig config = models::base_config(family);
  config.vocab_size = 40;
  config.hidden_size = 16;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 2;
  config.intermediate_size = 24;
  config.max_position_embeddings = 128;
  config.type_vocab_size = 2;
  config.sep_token_id = 3;
  config.pad_token_id = config.pad_token_id < config.vocab_size ? config.pad_token_id : 1;
  // Of these a family takes those that it has.
  models::update_fields(config,
                        {{"attention_head_size", 6},
                         {"attention_window", {8, 4}},
                         {"block_size", 4},
                         {"num_random_blocks", 1},
                         {"num_landmarks", 6},
                         {"num_latents", 4},
                         {"local_radius", 4},
                         {"local_attention", 8},
                         {"embedding_size", 12},
                         {"position_buckets", 8},
                         {"relative_pos_max_distance", 3},
                         {"sentence_end_ids", {5, 9}},
                         {"conv_kernel_size", 5}},
                        "small encoder");
  config.initializer_range = 0.3;
  config.hidden_dropout_prob = 0.0;
  config.attention_probs_dropout_prob = 0.0;
  return config;
}

/// Seeded weights; in evaluation mode. `options` as loading would give them.
inline models::EncoderModel small_encoder(const models::EncoderConfig& config, models::Head head,
                                          const models::EncoderOptions& options = {}) {
  models::EncoderModel model(config, head, options, at::TensorOptions(at::kFloat));
  models::initialize(*model, 7);
  model->eval();
  return model;
}

/// Ids from 4 on, so that none is special.
inline at::Tensor text_ids(std::int64_t rows, std::int64_t length) {
  torch::manual_seed(11);
  return at::randint(4, 40, {rows, length}, at::TensorOptions().dtype(at::kLong));
}

}  // namespace weft::test
