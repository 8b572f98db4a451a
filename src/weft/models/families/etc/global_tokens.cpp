// SPDX-License-Identifier: Apache-2.0
// What a call gives, checked one tensor after the other, or a walk over its ids.
#include "weft/models/families/etc/global_tokens.h"

#include <memory>
#include <utility>

#include "weft/attention/mechanisms/etc/etc_structure.h"
#include "weft/core/error.h"
#include "weft/layers/etc/etc_companions.h"
#include "weft/models/families/etc/config.h"
#include "weft/models/stack/batch_rows.h"

namespace weft::models {
namespace {

using attention::EtcStructure;

/// A given tensor of these sizes as int64 [R, columns]; undefined stays so.
at::Tensor given_rows(const at::Tensor& tensor, at::IntArrayRef sizes, const char* name) {
  if (!tensor.defined()) {
    return {};
  }
  require(tensor.sizes() == sizes && !tensor.is_floating_point() && !tensor.is_complex(), name,
          " must be whole numbers of shape ", sizes, ", found ", tensor.scalar_type(), ' ', tensor.sizes());
  return tensor.to(at::kLong).reshape({-1, sizes.back()});
}

at::Tensor as_mask(const at::Tensor& numbers) { return numbers.defined() ? numbers.ne(0) : numbers; }

/// Numbers of global tokens, of which there are `count`.
at::Tensor checked_numbers(const at::Tensor& numbers, std::int64_t count, const char* name) {
  if (numbers.defined()) {
    const std::int64_t least = numbers.min().item<std::int64_t>();
    const std::int64_t most = numbers.max().item<std::int64_t>();
    require(least >= -1 && most < count, name, " must be -1 or numbers of the ", count, " global tokens, found ", least,
            " to ", most);
  }
  return numbers;
}

void add_given(EncoderBatch& batch, const EncoderConfig& config, const EncoderInput& input) {
  const CompanionTokens& given = input.companions;
  const at::IntArrayRef text = input.input_ids.sizes();
  const at::Tensor& ids = given.input_ids;
  require(ids.dim() == input.input_ids.dim() && ids.numel() > 0 && ids.scalar_type() == at::kLong &&
              ids.sizes().slice(0, ids.dim() - 1) == text.slice(0, text.size() - 1),
          "global_input_ids must be int64 with the rows of input_ids ", text, " and at least one token each, found ",
          ids.scalar_type(), ' ', ids.sizes());
  check_range(ids, config.own.get<EtcFields>().global_vocab_size, "global_input_ids", "global_vocab_size");
  const at::IntArrayRef globals = ids.sizes();
  const std::int64_t count = globals.back();
  auto companions = std::make_shared<layers::EtcCompanions>();
  companions->ids = ids.reshape({-1, count});
  companions->token_types = given_rows(given.token_type_ids, globals, "global_token_type_ids");
  if (companions->token_types.defined()) {
    check_range(companions->token_types, config.type_vocab_size, "global_token_type_ids", "type_vocab_size");
  }
  const auto numbers = [&](const at::Tensor& tensor, const char* name) {
    return checked_numbers(given_rows(tensor, text, name), count, name);
  };
  auto structure = std::make_shared<EtcStructure>();
  structure->sentence = numbers(given.sentence, "sentence_ids");
  structure->paragraph = numbers(given.paragraph, "paragraph_ids");
  structure->linked = numbers(given.linked, "linked_ids");
  structure->segment = given_rows(given.segment, text, "segment_ids");
  structure->global_segment = given_rows(given.global_segment, globals, "global_segment_ids");
  structure->global_keep = as_mask(given_rows(given.mask, globals, "global_input_mask"));
  structure->sees_all = as_mask(given_rows(given.sees_all, globals, "sees_all"));
  companions->structure = std::move(structure);
  batch.companions = std::move(companions);
}

void add_by_rule(EncoderBatch& batch, const EncoderConfig& config, const EncoderInput& input) {
  at::Tensor ids = batch.ids;
  if (input.unmasked_ids.defined()) {
    require(input.unmasked_ids.sizes() == input.input_ids.sizes(), "unmasked_ids has shape ",
            input.unmasked_ids.sizes(), ", input_ids ", input.input_ids.sizes());
    ids = input.unmasked_ids.reshape(batch.ids.sizes());
  }
  layers::TextStructure found = structure_by_rule(config, ids, batch.keep);
  auto companions = std::make_shared<layers::EtcCompanions>();
  companions->ids = found.global_ids;
  companions->structure = std::make_shared<EtcStructure>(std::move(found.structure));
  batch.companions = std::move(companions);
}

}  // namespace

layers::TextStructure structure_by_rule(const EncoderConfig& config, const at::Tensor& ids, const at::Tensor& keep) {
  const auto& own = config.own.get<EtcFields>();
  return layers::text_structure(
      ids, keep,
      {.ends = own.sentence_end_ids, .paragraph_ends = own.paragraph_end_ids, .room = own.max_global_tokens});
}

void add_global_tokens(EncoderBatch& batch, const EncoderConfig& config, Head, const EncoderInput& input,
                       const at::Tensor&) {
  if (input.companions.input_ids.defined()) {
    add_given(batch, config, input);
  } else {
    add_by_rule(batch, config, input);
  }
}

}  // namespace weft::models
