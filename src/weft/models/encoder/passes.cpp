// SPDX-License-Identifier: Apache-2.0
// Which rows go together, and what the last call was.
#include "weft/models/encoder/passes.h"

#include <ATen/ops/cat.h>

#include <algorithm>

#include "weft/core/error.h"

namespace weft::models {
namespace {

/// The parts of a batch back in its order.
at::Tensor join_parts(const std::vector<at::Tensor>& hidden, const std::vector<at::Tensor>& rows) {
  return hidden.size() == 1 ? hidden.front() : at::cat(hidden).index_select(0, at::cat(rows).argsort());
}

using Computed = std::vector<std::pair<std::string, std::string>>;

/// What the first layer computes, and those that compute something else.
Computed attention_of_layers(const std::vector<std::string>& own) {
  Computed result;
  for (std::size_t layer = 0; layer < own.size(); ++layer) {
    if (layer == 0 || own[layer] != own.front()) {
      result.emplace_back(layer == 0 ? "attention" : concat("attention.", layer), own[layer]);
    }
  }
  return result;
}

}  // namespace

StackOutput EncoderPasses::run(StackImpl& stack, const EncoderBatch& batch, const PassCall& call) {
  const std::int64_t columns = batch.ids.size(1);
  const BatchParts parts = split_by_length(batch, settings_.full_until, settings_.pad_like_hf);
  const bool pads = settings_.pad_like_hf && is_sparse() && !parts.parts.front().short_input;
  if (pads) {
    const EncoderBatch padded = pad_columns(batch, settings_.block, std::max<std::int64_t>(settings_.padding_id, 0));
    require(padded.ids.size(1) <= settings_.position_rows, "pad_like_hf makes ", columns, " tokens ",
            padded.ids.size(1), ", more than ", stack.length_field(), " = ", settings_.position_rows);
    record(batch, parts, padded.ids.size(1) - columns);
    StackOutput rows = run_part(stack, padded, call);
    rows.hidden = rows.hidden.narrow(1, 0, columns);
    return rows;
  }
  record(batch, parts, 0);
  std::vector<at::Tensor> hidden;
  std::vector<at::Tensor> companions;
  for (const EncoderBatch& part : parts.parts) {
    const StackOutput rows = run_part(stack, part, call);
    hidden.push_back(rows.hidden);
    companions.push_back(rows.companions);
  }
  return {join_parts(hidden, parts.rows),
          companions.front().defined() ? join_parts(companions, parts.rows) : at::Tensor()};
}

StackOutput EncoderPasses::run_part(StackImpl& stack, const EncoderBatch& batch, const PassCall& call) {
  layers::BlockContext context;
  describe_batch(context.attention, batch, settings_.pad_like_hf && !settings_.zeroes_padding, stack.needs_input());
  last_.is_bound = last_.is_bound || binds_positions(context.attention);
  context.attention.seed = call.seed;
  return stack.forward({.ids = batch.ids, .token_types = batch.token_types, .companions = batch.companions}, context,
                       call.recompute);
}

void EncoderPasses::record(const EncoderBatch& batch, const BatchParts& parts, std::int64_t padding) {
  last_ = {batch.ids.size(0), 0, padding, false};
  for (const EncoderBatch& part : parts.parts) {
    last_.short_rows += part.short_input ? part.ids.size(0) : 0;
  }
}

std::vector<std::pair<std::string, std::string>> EncoderPasses::computed(const StackImpl& stack) const {
  const bool all_short = last_.rows > 0 && last_.short_rows == last_.rows;
  auto result = all_short ? Computed{{"attention", "full"}} : attention_of_layers(stack.descriptions());
  if (is_sparse() && !all_short && !settings_.random.empty()) {
    result.emplace_back("random", settings_.random);
  }
  if (stack.needs_input() && !all_short && last_.rows > 0 && !last_.is_bound) {
    result.emplace_back("global", "no position");
  }
  if (last_.short_rows > 0) {
    result.emplace_back("full_attention", concat(last_.short_rows, " of ", last_.rows, " rows have at most ",
                                                 settings_.full_until, " tokens, too few for the sparse pattern"));
  }
  if (!settings_.always_full.empty()) {
    result.emplace_back("full_attention", settings_.always_full);
  }
  if (last_.padding > 0) {
    result.emplace_back("padding", concat(last_.padding, " tokens added to a multiple of the block"));
  }
  return result;
}

}  // namespace weft::models
