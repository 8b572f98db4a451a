// SPDX-License-Identifier: Apache-2.0
// A call of an encoder made ready: checked, choices laid out as rows, defaults filled in, rows that are too short for a
// sparse pattern told from the others.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/attention/context.h"
#include "weft/layers/blocks/companion_source.h"
#include "weft/models/encoder_model.h"

namespace weft::models {

/// R rows of N tokens.
struct EncoderBatch {
  at::Tensor ids;          ///< int64 [R, N]
  at::Tensor token_types;  ///< int64 [R, N], or undefined: all 0
  at::Tensor keep;         ///< bool [R, N], false is padding; undefined: all kept
  at::Tensor globals;      ///< bool [R, N], or undefined: none
  at::Tensor question;     ///< bool [R, N]: tokens that cannot be an answer (big_bird), or undefined
  std::shared_ptr<const layers::CompanionInput> companions;  ///< of the family's own kind; null: it needs none
  std::int64_t choices = 1;                                  ///< rows that belong together
  bool short_input = false;  ///< computed with full attention, see PassSettings::full_until
};

/// Checks `input` against the tables of `config`, brings it to `device` and fills in what the family's head fills in.
/// Errors: kArgument naming tensor, shape and rule.
EncoderBatch make_batch(const EncoderConfig& config, Head head, const EncoderInput& input, c10::Device device);

/// What `input` of a pattern stands for [R, N] (nonzero) where the caller names nothing: the first token where a text
/// is classified, the question where one is answered, the choice where one is chosen, as Longformer's of `transformers`
/// have it; undefined for tags and masked tokens, and for pairs without `places` (EncoderInput::pair_places).
at::Tensor global_positions(Head head, const at::Tensor& ids, const at::Tensor& places);

/// Whether global_positions() names any for the head.
bool names_positions(Head head);

/// `batch` as parts of which each is short or not: the rows of part p are rows[p] of it. A row's length is its own, or
/// with `padded` that of the batch. One part and no copy where all rows are alike.
struct BatchParts {
  std::vector<EncoderBatch> parts;
  std::vector<at::Tensor> rows;  ///< int64 [rows of the part]; empty with one part
};
BatchParts split_by_length(const EncoderBatch& batch, std::int64_t full_until, bool padded);

/// The batch with columns of padding up to a multiple of `multiple`, as `transformers` adds them.
EncoderBatch pad_columns(const EncoderBatch& batch, std::int64_t multiple, std::int64_t padding_id);

/// Padding and bound positions as attention wants them. With `padded` a pattern is laid out over all N tokens and
/// padding is masked; otherwise over each row's own. `bind`: the pattern asks for positions.
void describe_batch(attention::AttentionContext& context, const EncoderBatch& batch, bool padded, bool bind);

/// Whether `input` stands for a position of a row.
bool binds_positions(const attention::AttentionContext& context);

}  // namespace weft::models
