// SPDX-License-Identifier: Apache-2.0
// An encoder twice, the second time with cross-attention.
#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "weft/checkpoint/encoder_decoder/convert.h"
#include "weft/core/error.h"
#include "weft/core/system/option_name.h"
#include "weft/models/encoder/passes.h"
#include "weft/models/families/encoder_rules.h"

namespace weft::checkpoint {
namespace {

using models::EncoderConfig;
using models::EncoderDecoder;
using models::EncoderDecoderConfig;
using models::EncoderModel;

void check_encoder(const EncoderConfig& config) {
  models::encoder_rules(config).check_start(config);
  if (!config.has_position_table()) {
    throw Error(ErrorKind::kUnsupported,
                concat("an encoder-decoder cannot start from this ", config.model_type,
                       ": it has no position embeddings, which a decoder needs"),
                concat("start from a ", models::families_to_start_from(), " that has them"));
  }
}

void check_pair(const EncoderDecoderConfig& config) {
  require(config.decoder_layers <= config.encoder_layers, "the decoder starts from the encoder's ",
          config.encoder_layers, " layers and cannot have more, found ", config.decoder_layers);
  require(config.max_target_positions <= config.max_source_positions, "the decoder starts from the encoder's ",
          config.max_source_positions, " positions and cannot have more, found ", config.max_target_positions);
  for (const auto& [name, id] : {std::pair<const char*, std::int64_t>{"eos_token_id", config.eos_token_id},
                                 {"decoder_start_token_id", config.decoder_start_token_id}}) {
    if (id < 0) {
      throw Error(ErrorKind::kUnsupported, concat("the encoder's config names no ", name, ", which a target needs"),
                  concat("give it: ", option(name), " N"));
    }
  }
  models::validate(config, "warm start");
}

EncoderDecoderConfig pair_config(const EncoderModel& encoder, const WarmStartOptions& options) {
  const EncoderConfig& from = encoder->config();
  const models::Blueprint plan = models::blueprint(from, encoder->head(), encoder->options());
  EncoderDecoderConfig config;
  config.vocab_size = from.vocab_size;
  config.d_model = from.hidden_size;
  config.encoder_layers = from.num_hidden_layers;
  config.decoder_layers = options.decoder_layers > 0 ? options.decoder_layers : from.num_hidden_layers;
  config.encoder_attention_heads = from.num_attention_heads;
  config.decoder_attention_heads = from.num_attention_heads;
  config.encoder_ffn_dim = from.intermediate_size;
  config.decoder_ffn_dim = from.intermediate_size;
  config.max_source_positions = from.maximum_length();
  config.max_target_positions = options.max_target_positions > 0 ? options.max_target_positions : from.maximum_length();
  config.activation_function = from.hidden_act;
  config.scale_embedding = plan.stack.embeddings.token_scale != 1.0;
  config.layer_norm_eps = from.layer_norm_eps;
  config.init_std = from.initializer_range;
  config.dropout = from.hidden_dropout_prob;
  config.attention_dropout = from.attention_probs_dropout_prob;
  config.pad_token_id = from.pad_token_id;
  config.bos_token_id = from.bos_token_id;
  config.eos_token_id = options.eos_token_id >= 0 ? options.eos_token_id : from.eos_token_id;
  config.decoder_start_token_id =
      options.decoder_start_token_id >= 0 ? options.decoder_start_token_id : from.bos_token_id;
  config.tokenizer_class = "huggingface";
  config.directory = encoder->options().attention.empty() ? from.directory : std::filesystem::path();
  config.encoder_full_until = std::max<std::int64_t>(0, plan.passes.full_until);
  config.encoder_attention.clear();
  for (const layers::BlockConfig& block : plan.stack.blocks) {
    config.encoder_attention.push_back(block.attention);
  }
  check_pair(config);
  return config;
}

/// The encoder's parameter that begins one of the new model; empty for cross-attention.
std::string source_name(std::string name) {
  if (name.starts_with("decoder.")) {
    name.replace(0, std::string_view("decoder").size(), "encoder");
  }
  return name.find("cross_attention") == std::string::npos ? name : std::string();
}

}  // namespace

EncoderDecoder warm_start(const EncoderModel& encoder, const WarmStartOptions& options) {
  const EncoderConfig& from = encoder->config();
  check_encoder(from);
  const EncoderDecoderConfig config = pair_config(encoder, options);
  EncoderDecoder model(config);
  const at::NoGradGuard without_gradients;
  const auto old = encoder->named_parameters();
  const std::int64_t idle = models::padding_rows(from);
  for (auto& parameter : model->named_parameters()) {
    const std::string name = source_name(parameter.key());
    at::Tensor& value = parameter.value();
    if (name == "encoder.embeddings.positions") {
      const at::Tensor positions = old[name].narrow(0, idle, value.size(0));
      const at::Tensor* const types = old.find("encoder.embeddings.token_types");
      value.copy_(types == nullptr ? positions : positions + (*types)[0]);
    } else if (const at::Tensor* found = name.empty() ? nullptr : old.find(name)) {
      value.copy_(*found);
    }
  }
  model->eval();
  return model;
}

}  // namespace weft::checkpoint
