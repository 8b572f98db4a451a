// SPDX-License-Identifier: Apache-2.0
// Checks of a call, its defaults, and its parts by length.
#include "weft/models/encoder/batch.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <array>
#include <utility>

#include "weft/attention/devices/placed.h"
#include "weft/core/error.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/stack/batch_rows.h"

namespace weft::models {
namespace {

/// [B, C, N] as [B * C, N]; undefined stays so. A float mask is one of numbers all the same, as `transformers` makes
/// them.
at::Tensor rows_of(const at::Tensor& tensor, const at::Tensor& ids, const char* name) {
  if (!tensor.defined()) {
    return {};
  }
  require(tensor.sizes() == ids.sizes(), name, " has shape ", tensor.sizes(), ", input_ids ", ids.sizes());
  require(!tensor.is_complex(), name, " must be of integers, found ", tensor.scalar_type());
  return tensor.to(ids.device()).reshape({-1, ids.size(-1)});
}

void check_token_ids(const EncoderConfig& config, Head head, const at::Tensor& ids) {
  const bool choices = head == Head::kMultipleChoice;
  require(ids.defined() && ids.scalar_type() == at::kLong && ids.numel() > 0 && ids.dim() == (choices ? 3 : 2),
          "input_ids must be int64 ", choices ? "[batch, choices, length]" : "[batch, length]",
          " with at least one token, found ",
          [&] { return ids.defined() ? concat(ids.scalar_type(), " ", ids.sizes()) : "none"; });
  check_range(ids, config.vocab_size, "input_ids", "vocab_size");
  require(ids.size(-1) <= config.maximum_length(), "the input has ", ids.size(-1),
          " tokens, but the model's max_position_embeddings ", config.max_position_embeddings, " are for ",
          config.maximum_length());
}

/// Longformer's masks in one: 2 in attention_mask, or a nonzero global_attention_mask, where a token is kept.
at::Tensor global_tokens(const at::Tensor& mask, const at::Tensor& globals) {
  at::Tensor result = globals.defined() ? globals.ne(0) : at::Tensor();
  if (mask.defined()) {
    const at::Tensor marked = mask.gt(1);
    result = result.defined() ? result.logical_or(marked) : marked;
    result = result.logical_and(mask.ne(0));
  }
  return result;
}

/// int64 [R, 2], or undefined.
at::Tensor places_of(const EncoderInput& input) {
  if (!input.pair_places.defined()) {
    return {};
  }
  std::vector<std::int64_t> expected = input.input_ids.sizes().vec();
  expected.back() = 2;
  require(input.pair_places.sizes() == at::IntArrayRef(expected) && input.pair_places.scalar_type() == at::kLong,
          "pair_places must be int64 ", at::IntArrayRef(expected), ", found ", input.pair_places.scalar_type(), " ",
          input.pair_places.sizes());
  return input.pair_places.to(input.input_ids.device()).reshape({-1, 2});
}

using Named = std::pair<const char*, const at::Tensor*>;

std::array<Named, 8> about_companions(const CompanionTokens& input) {
  return {Named{"global_input_mask", &input.mask},
          Named{"global_token_type_ids", &input.token_type_ids},
          Named{"sentence_ids", &input.sentence},
          Named{"paragraph_ids", &input.paragraph},
          Named{"linked_ids", &input.linked},
          Named{"segment_ids", &input.segment},
          Named{"global_segment_ids", &input.global_segment},
          Named{"sees_all", &input.sees_all}};
}

/// Before the family looks at them.
void check_about_companions(const CompanionTokens& input) {
  for (const auto& [name, tensor] : about_companions(input)) {
    require(input.input_ids.defined() || !tensor->defined(), name,
            " is about global tokens: expected global_input_ids beside it");
  }
}

at::Tensor select_rows(const at::Tensor& tensor, const at::Tensor& rows) {
  return tensor.defined() ? tensor.index_select(0, rows) : tensor;
}

EncoderInput placed(EncoderInput input, c10::Device device) {
  CompanionTokens& companions = input.companions;
  for (at::Tensor* tensor :
       {&input.input_ids, &input.attention_mask, &input.token_type_ids, &input.global_attention_mask,
        &input.pair_places, &input.unmasked_ids, &companions.input_ids, &companions.mask, &companions.token_type_ids,
        &companions.sentence, &companions.paragraph, &companions.linked, &companions.segment,
        &companions.global_segment, &companions.sees_all}) {
    *tensor = attention::placed(*tensor, device);
  }
  return input;
}

EncoderBatch part_of(const EncoderBatch& batch, const at::Tensor& rows, bool short_input) {
  EncoderBatch part = batch;
  part.ids = select_rows(batch.ids, rows);
  part.token_types = select_rows(batch.token_types, rows);
  part.keep = select_rows(batch.keep, rows);
  part.globals = select_rows(batch.globals, rows);
  part.question = select_rows(batch.question, rows);
  part.companions = batch.companions != nullptr ? batch.companions->chosen(rows) : nullptr;
  part.short_input = short_input;
  return part;
}

std::vector<std::vector<std::int64_t>> bound_positions(const EncoderBatch& batch) {
  std::vector<std::vector<std::int64_t>> positions(static_cast<std::size_t>(batch.ids.size(0)));
  if (!batch.globals.defined()) {
    return positions;
  }
  const at::Tensor pairs = batch.globals.nonzero().cpu();  // [count, 2], by row
  const auto values = pairs.accessor<std::int64_t, 2>();
  for (std::int64_t i = 0; i < pairs.size(0); ++i) {
    positions[static_cast<std::size_t>(values[i][0])].push_back(values[i][1]);
  }
  return positions;
}

}  // namespace

EncoderBatch make_batch(const EncoderConfig& config, Head head, const EncoderInput& given, c10::Device device) {
  check_token_ids(config, head, given.input_ids);
  const EncoderInput input = placed(given, device);
  EncoderBatch batch;
  batch.choices = head == Head::kMultipleChoice ? input.input_ids.size(1) : 1;
  batch.ids = input.input_ids.reshape({-1, input.input_ids.size(-1)});
  batch.token_types = rows_of(input.token_type_ids, input.input_ids, "token_type_ids");
  const at::Tensor mask = rows_of(input.attention_mask, input.input_ids, "attention_mask");
  batch.keep = mask.defined() ? mask.ne(0) : at::Tensor();
  const at::Tensor places = places_of(input);
  check_about_companions(input.companions);
  encoder_rules(config).complete(batch, config, head, input, places);
  require(batch.companions != nullptr || !input.companions.input_ids.defined(),
          "global_input_ids are for models with global tokens, but the model is ", config.model_type);
  if (config.type_vocab_size == 0) {  // the model has no table of them
    batch.token_types = at::Tensor();
  }
  if (batch.token_types.defined()) {
    batch.token_types = batch.token_types.to(at::kLong);
    check_range(batch.token_types, config.type_vocab_size, "token_type_ids", "type_vocab_size");
  }
  const at::Tensor marked = rows_of(input.global_attention_mask, input.input_ids, "global_attention_mask");
  if (!marked.defined() && !batch.globals.defined()) {
    batch.globals = global_positions(head, batch.ids, places);
  }
  batch.globals = global_tokens(mask, marked.defined() ? marked : batch.globals);
  return batch;
}

at::Tensor global_positions(Head head, const at::Tensor& ids, const at::Tensor& places) {
  if (head == Head::kSequenceClassification) {
    at::Tensor globals = at::zeros_like(ids);
    globals.select(1, 0).fill_(1);
    return globals;
  }
  if (!names_positions(head) || !places.defined()) {
    return {};
  }
  const at::Tensor positions = at::arange(ids.size(1), ids.options()).unsqueeze(0);
  const at::Tensor begin = places.narrow(1, 1, 1);  // -1 in a row of one text, which has no global position
  return head == Head::kQuestionAnswering ? positions.lt(places.narrow(1, 0, 1))
                                          : positions.ge(begin).logical_and(begin.ge(0));
}

bool names_positions(Head head) {
  return head == Head::kSequenceClassification || head == Head::kQuestionAnswering || head == Head::kMultipleChoice;
}

BatchParts split_by_length(const EncoderBatch& batch, std::int64_t full_until, bool padded) {
  const std::int64_t columns = batch.ids.size(1);
  if (padded || !batch.keep.defined() || columns <= full_until || full_until < 0) {
    BatchParts whole{{batch}, {}};
    whole.parts.front().short_input = columns <= full_until;
    return whole;
  }
  const at::Tensor is_short = row_lengths(batch.keep).le(full_until);
  const at::Tensor short_rows = is_short.nonzero().flatten();
  const at::Tensor long_rows = is_short.logical_not().nonzero().flatten();
  if (short_rows.numel() == 0 || long_rows.numel() == 0) {
    BatchParts whole{{batch}, {}};
    whole.parts.front().short_input = long_rows.numel() == 0;
    return whole;
  }
  return {{part_of(batch, short_rows, true), part_of(batch, long_rows, false)}, {short_rows, long_rows}};
}

EncoderBatch pad_columns(const EncoderBatch& batch, std::int64_t multiple, std::int64_t padding_id) {
  const std::int64_t missing = (multiple - batch.ids.size(1) % multiple) % multiple;
  EncoderBatch padded = batch;
  if (missing == 0) {
    return padded;
  }
  const at::Tensor keep = batch.keep.defined() ? batch.keep : at::ones_like(batch.ids, at::kBool);
  padded.ids = at::constant_pad_nd(batch.ids, {0, missing}, padding_id);
  padded.keep = at::constant_pad_nd(keep, {0, missing}, 0);
  if (batch.token_types.defined()) {
    padded.token_types = at::constant_pad_nd(batch.token_types, {0, missing}, 0);
  }
  if (batch.globals.defined()) {
    padded.globals = at::constant_pad_nd(batch.globals, {0, missing}, 0);
  }
  padded.companions = batch.companions != nullptr ? batch.companions->padded(missing) : nullptr;
  return padded;
}

void describe_batch(attention::AttentionContext& context, const EncoderBatch& batch, bool padded, bool bind) {
  const std::vector<std::vector<std::int64_t>> positions =
      bind ? bound_positions(batch) : std::vector<std::vector<std::int64_t>>();
  describe_rows(context, padded ? at::Tensor() : batch.keep, positions, batch.ids);
  if (padded) {
    context.key_keep = batch.keep;
  }
}

bool binds_positions(const attention::AttentionContext& context) {
  return std::any_of(context.rows.begin(), context.rows.end(), [](const auto& row) { return !row.input.empty(); });
}

}  // namespace weft::models
