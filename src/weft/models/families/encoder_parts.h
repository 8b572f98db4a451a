// SPDX-License-Identifier: Apache-2.0
// What families of encoders share: what those without a rule of their own do, and the parts that some rules are made
// of. Members of EncoderRules begin as these functions.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/formats/config_json.h"
#include "weft/layers/block_config.h"
#include "weft/layers/embeddings.h"
#include "weft/models/blueprint.h"
#include "weft/models/encoder_config.h"
#include "weft/models/encoder_model.h"
#include "weft/models/families/name_rows.h"
#include "weft/models/stack/initialize.h"
#include "weft/text/hugging_face.h"

namespace weft::models {

struct EncoderBatch;

/// The rows below the heads, which all families have, and those of `own`.
std::vector<NameRow> with_encoder_names(std::vector<NameRow> own);

// What families without a rule of their own do.
/// The heads share the hidden columns. Errors: kArgument naming `where`.
void check_heads(const EncoderConfig& config, std::string_view where);
/// Learned positions, token types and a norm, as BERT has them.
layers::EmbeddingsConfig bert_embeddings(const EncoderConfig& config);
std::string full_attention(const EncoderConfig& config, const EncoderOptions& options, std::int64_t layer);
layers::SelfAttentionFactory plain_layer(const EncoderConfig& config, const EncoderOptions& options, bool replaced);
/// Embeddings and transformer blocks.
StackConfig transformer_stack(const EncoderConfig& config, const EncoderOptions& options);
/// The config's activation in every head, and its dropout.
HeadPlan bert_head(const EncoderConfig& config);
/// The same with Classifier::kDense.
HeadPlan first_token_head(const EncoderConfig& config);
/// Matrices normal(0, initializer_range), without truncation.
Initializer normal_values(const EncoderConfig& config);
PassSettings one_pass(const EncoderConfig& config, const EncoderOptions& options);
Costs transformer_costs(const EncoderConfig& config);
/// The same with a gate in each feed-forward.
Costs gated_costs(const EncoderConfig& config);
/// The activation of a feed-forward whose gate has the config's: "geglu" for "gelu".
std::string gated_activation(const EncoderConfig& config);
void complete_nothing(EncoderBatch& batch, const EncoderConfig& config, Head head, const EncoderInput& input,
                      const at::Tensor& places);
void adapt_nothing(EncoderConfig& config);
at::Tensor no_first_value(const std::string& name, const at::Tensor& target, const EncoderModel& source);
void accept_as_start(const EncoderConfig& config);

/// For check_start: an encoder-decoder cannot start from such a model, `because`. Errors: kUnsupported, always.
[[noreturn]] void refuse_start(const EncoderConfig& config, std::string_view because);

/// For fit: the id of the first of `roles` that the tokeniser has, -1 for none; an id that `given` names stays.
void fit_token(std::int64_t& id, std::string_view field, const formats::Json& given,
               const text::HuggingFaceTokenizer& tokenizer, std::initializer_list<text::SpecialRole> roles);

// For families with rotary positions.
/// Each head has pairs of columns. Errors: kArgument naming `where`.
void check_rotation(const EncoderConfig& config, std::string_view where);
/// Errors: kUnsupported, always.
void refuse_rotary_start(const EncoderConfig& config);

}  // namespace weft::models
