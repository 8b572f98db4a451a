// SPDX-License-Identifier: Apache-2.0
// The rules between the fields of an EncoderDecoderConfig.
#include "weft/models/encoder_decoder_config.h"

#include <algorithm>
#include <utility>

#include "weft/models/encoder_model.h"
#include "weft/models/families/pair_rules.h"
#include "weft/models/stack/stack_config.h"

namespace weft::models {
namespace {

void check_list(const std::vector<std::string>& list, std::int64_t layers, std::string_view where, const char* field) {
  const auto count = static_cast<std::int64_t>(list.size());
  require(count == 1 || count == layers, where, ": ", field, " must list one mechanism, or one for each of ", layers,
          " layers, found ", count);
  for (std::size_t layer = 0; layer < list.size(); ++layer) {
    require(!list[layer].empty(), where, ": ", field, " of layer ", layer, " is empty; name a mechanism");
  }
}

void check_head_count(const EncoderDecoderConfig& config, std::string_view where, const char* field,
                      std::int64_t heads) {
  require(pair_rules(config).head_size(config) > 0 || config.d_model % heads == 0, where, ": d_model ", config.d_model,
          " is not divisible by ", field, " ", heads);
  require(config.position_embedding != "rotary" || config.d_model / heads % 2 == 0, where,
          ": rotary position_embedding needs an even head dimension, but d_model ", config.d_model, " over ", field,
          " ", heads, " is ", config.d_model / heads);
}

/// A call names positions of the source that `input` stands for, and none of the target.
void check_target(const StackConfig& stack, std::string_view where) {
  for (const layers::BlockConfig& block : stack.blocks) {
    if (attention::parse_mechanism(block.attention, block.directory).needs_input) {
      fail(ErrorKind::kUnsupported, where, ": ", stack.attention_field, " of layer ", block.layer, ": `",
           block.attention, "` names `input`, but a call of an encoder-decoder names no such positions of the target");
    }
  }
}

void check_vocabularies(const EncoderDecoderConfig& config, std::string_view where) {
  const std::int64_t both = std::min(config.vocab_size, config.target_vocab_size());
  require(config.pad_token_id < both, where, ": pad_token_id ", config.pad_token_id, " is not below ",
          both == config.vocab_size ? "vocab_size " : "decoder_vocab_size ", both);
  for (const auto& [name, id] :
       {std::pair{"decoder_start_token_id", config.decoder_start_token_id}, {"eos_token_id", config.eos_token_id}}) {
    require(id < config.target_vocab_size(), where, ": ", name, " ", id, " is not below ",
            config.decoder_vocab_size > 0 ? "decoder_vocab_size " : "vocab_size ", config.target_vocab_size());
  }
  require(!config.share_embeddings || config.target_vocab_size() == config.vocab_size, where,
          ": one table of token embeddings for both sides (share_embeddings) needs decoder_vocab_size ",
          config.decoder_vocab_size, " equal to vocab_size ", config.vocab_size);
}

}  // namespace

void validate(const EncoderDecoderConfig& config, std::string_view where) {
  check_fields(config, where);
  check_head_count(config, where, "encoder_attention_heads", config.encoder_attention_heads);
  check_head_count(config, where, "decoder_attention_heads", config.decoder_attention_heads);
  require(config.position_embedding != "sinusoidal_counted" || config.d_model >= 4, where,
          ": position_embedding sinusoidal_counted needs a d_model of at least 4, found ", config.d_model);
  check_vocabularies(config, where);
  if (!config.encoder_attention.empty()) {
    check_list(config.encoder_attention, config.encoder_layers, where, "encoder_attention");
  }
  check_list(config.decoder_attention, config.decoder_layers, where, "decoder_attention");
  check_list(config.cross_attention, config.decoder_layers, where, "cross_attention");
  require(config.alignment_layer < config.decoder_layers, where, ": alignment_layer ", config.alignment_layer,
          " must be below decoder_layers ", config.decoder_layers);
  require(config.alignment_head < config.decoder_attention_heads, where, ": alignment_head ", config.alignment_head,
          " must be below decoder_attention_heads ", config.decoder_attention_heads);
  const PairRules& rules = pair_rules(config);
  require(!rules.has_one_length() || config.max_source_positions == config.max_target_positions, where, ": ",
          config.model_type, " has as many positions for a target as for a source, found ", config.max_target_positions,
          " and ", config.max_source_positions);
  rules.check(config, where);
  const PairBlueprint plan = blueprint(config, {});
  check_mechanisms(plan.encoder, where);
  check_mechanisms(plan.decoder, where);
  check_target(plan.decoder, where);
}

}  // namespace weft::models
