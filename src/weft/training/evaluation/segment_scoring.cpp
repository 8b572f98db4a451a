// SPDX-License-Identifier: Apache-2.0
// One state goes through the whole text; it forgets what the memory has no room for.
#include "weft/training/evaluation/segment_scoring.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/layers/blocks/attention_block.h"

namespace weft::training {
namespace {

layers::DecodingState state_behind(const models::LanguageModel& model, MemoryBegin begin) {
  layers::DecodingState state = model->initial_state();
  if (begin == MemoryBegin::kEmpty) {
    return state;
  }
  const models::TransformerConfig& config = model->config();
  const at::Tensor zeros =
      at::zeros({1, config.memory_length, config.hidden_size}, model->parameters().front().options());
  std::int64_t layer = 0;
  for (const auto& module : model->modules()) {
    if (auto* const block = module->as<layers::AttentionBlockImpl>()) {
      block->attention->remember(zeros, state.layer(layer++));
    }
  }
  state.advance(config.memory_length);
  return state;
}

}  // namespace

double segment_nats(models::LanguageModel model, const at::Tensor& ids, const WindowOptions& options,
                    const OnSegment& on_segment, MemoryBegin begin) {
  require(options.context >= 1, "context must be at least 1, found ", options.context);
  if (options.shares > 1) {
    fail(ErrorKind::kUnsupported, "a text behind a memory is scored by one process, found ", options.shares);
  }
  const std::int64_t targets = ids.numel() - 1;
  require(targets >= 1, "a text of at least two tokens can be evaluated, found ", ids.numel());
  layers::DecodingState state = state_behind(model, begin);
  double nats = 0.0;
  for (std::int64_t first = 0; first < targets; first += options.context) {
    const std::int64_t count = std::min(options.context, targets - first);
    const at::Tensor labels = ids.narrow(0, first + 1, count).unsqueeze(0);
    const models::TokenScores scores = model->token_scores(ids.narrow(0, first, count).unsqueeze(0), labels, state);
    nats += scores.nats.sum(at::kDouble).item<double>();
    if (!std::isfinite(nats)) {
      fail(ErrorKind::kNumeric, "the loss became ", nats, " within tokens ", first, " to ", first + count,
           " of the text");
    }
    on_segment(scores, labels);
    if (options.progress) {
      options.progress(first + count, targets);
    }
  }
  return nats;
}

}  // namespace weft::training
