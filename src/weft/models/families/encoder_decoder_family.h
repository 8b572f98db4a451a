// SPDX-License-Identifier: Apache-2.0
// What tells encoder-decoders apart, as settings of the two stacks that they share, and the names that their parameters
// and settings have in Hugging Face directories. A family is one value of this struct: a new one is a file next to
// bart.cpp and a row in the table of encoder_decoder_family.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/layers/block_config.h"
#include "weft/models/encoder/passes.h"
#include "weft/models/encoder_decoder_config.h"
#include "weft/models/families/encoder_rules.h"

namespace weft::models {

// What families without a rule of their own do.
void accept_all(const EncoderDecoderConfig& config, std::string_view where);
std::string full_source(const EncoderDecoderConfig& config, const EncoderOptions& options, std::int64_t layer);
layers::SelfAttentionFactory plain_source(const EncoderDecoderConfig& config, const EncoderOptions& options,
                                          bool replaced);
PassSettings one_pass(const EncoderDecoderConfig& config, const EncoderOptions& options);

struct EncoderDecoderFamily {
  std::string_view model_type;                ///< in config.json
  std::string_view class_name;                ///< of `transformers`: "MarianMTModel"
  std::string_view base_class;                ///< the same without a head: "MarianModel"
  std::string_view base_prefix = "model";     ///< of the tensors below the head: "model" of model.encoder.layers...
  EncoderDecoderConfig defaults;              ///< what transformers takes where config.json is silent
  std::vector<FieldName> fields;              ///< that config.json has
  std::vector<NameRow> names;                 ///< the first row that fits a parameter counts
  bool saves_positions = false;               ///< files hold the sinusoidal positions, too
  bool shares_by_field = false;               ///< config.json says whether source and target share a table (Marian)
  bool first_token_is_global = false;         ///< of a source whose call names no global positions
  bool takes_encoder_attention_type = false;  ///< EncoderOptions' attention_type, block_size and random_blocks

  /// Rules of the family beyond check_fields(). Errors: kArgument naming `where`.
  void (*check)(const EncoderDecoderConfig& config, std::string_view where) = accept_all;
  /// The pattern of a layer of the encoder, where neither the config nor the options name one.
  std::string (*encoder_attention)(const EncoderDecoderConfig& config, const EncoderOptions& options,
                                   std::int64_t layer) = full_source;
  /// What builds the self-attention of such a layer, where that does more than layers::SelfAttention.
  layers::SelfAttentionFactory (*encoder_layer)(const EncoderDecoderConfig& config, const EncoderOptions& options,
                                                bool replaced) = plain_source;
  /// How a batch goes through the encoder.
  PassSettings (*passes)(const EncoderDecoderConfig& config, const EncoderOptions& options) = one_pass;
};

/// Those of Hugging Face, in the order of kEncoderDecoderTypes.
std::span<const EncoderDecoderFamily* const> encoder_decoders();
/// One of them, or Weft's own ("weft"). Errors: kArgument naming those there are.
const EncoderDecoderFamily& find_encoder_decoder(std::string_view model_type);

const EncoderDecoderFamily& marian_family();
const EncoderDecoderFamily& bart_family();
const EncoderDecoderFamily& pegasus_family();
const EncoderDecoderFamily& bigbird_pegasus_family();
const EncoderDecoderFamily& led_family();

/// Whether config.json has one number of positions for both sides.
bool has_one_length(const EncoderDecoderFamily& family);

/// The mechanism that replaces the family's own in a layer of the encoder; empty: none does.
std::string replacing_attention(const EncoderDecoderConfig& config, const EncoderOptions& options, std::int64_t layer);

}  // namespace weft::models
