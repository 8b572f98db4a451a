// SPDX-License-Identifier: Apache-2.0
// Windows side by side, each masked by its own number.
#include "weft/training/evaluation/evaluate_masked.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "weft/core/error.h"
#include "weft/training/evaluation/evaluation_mode.h"
#include "weft/training/precision.h"
#include "weft/training/processes/process_group.h"
#include "weft/training/trainer_config.h"

namespace weft::training {
namespace {

// How a text is cut: windows that are read, and those, at least as long, whose tokens are masked together.
struct Cut {
  std::int64_t context = 0;
  std::int64_t masked = 0;
};

Cut cut_of(const EvaluateOptions& options) {
  const std::int64_t masked = options.mask_window == 0 ? options.context : options.mask_window;
  require(masked % options.context == 0, "mask_window must be a multiple of the tokens of text in a window, ",
          options.context, ", found ", masked);
  return {options.context, masked};
}

// What was masked together, for the windows that are cut out of it one after the other.
struct Masked {
  std::int64_t number = -1;
  data::Batch tokens;
};

// A window of a text's ids, masked with those beside it.
data::Batch masked_window(const MaskedScoring& scoring, const at::Tensor& ids, const Cut& cut, std::int64_t window,
                          Masked& last) {
  const std::int64_t begin = window * cut.context;
  const std::int64_t length = std::min(cut.context, ids.numel() - begin);
  const std::int64_t number = begin / cut.masked;
  const std::int64_t together = number * cut.masked;
  if (last.number != number) {
    const at::Tensor tokens = ids.narrow(0, together, std::min(cut.masked, ids.numel() - together)).unsqueeze(0);
    last = {number, scoring.mask(tokens, number)};
  }
  const data::Batch own{last.tokens.input_ids.narrow(1, begin - together, length),
                        last.tokens.labels.narrow(1, begin - together, length)};
  return scoring.frame ? scoring.frame(own) : own;
}

// Windows [first, last), which are of one length.
data::Batch masked_windows(const MaskedScoring& scoring, const at::Tensor& ids, const Cut& cut, std::int64_t first,
                           std::int64_t last) {
  std::vector<at::Tensor> inputs;
  std::vector<at::Tensor> labels;
  Masked masked;
  for (std::int64_t window = first; window < last; ++window) {
    const data::Batch row = masked_window(scoring, ids, cut, window, masked);
    inputs.push_back(row.input_ids);
    labels.push_back(row.labels);
  }
  return {at::cat(inputs), at::cat(labels)};
}

struct Sums {
  double nats = 0.0;
  double hits = 0.0;
  double tokens = 0.0;

  void add(const models::TokenScores& scores, const at::Tensor& labels) {
    nats += scores.nats.sum(at::kDouble).item<double>();
    hits += scores.hits.sum().item<double>();
    tokens += labels.ne(data::kIgnoredLabel).sum().item<double>();
  }
};

Sums score_windows(const MaskedScoring& scoring, const at::Tensor& ids, const EvaluateOptions& options) {
  const Cut cut = cut_of(options);
  const std::int64_t context = cut.context;
  const std::int64_t whole = ids.numel() / context;
  const std::int64_t windows = whole + (ids.numel() % context > 0 ? 1 : 0);
  const std::int64_t rows = std::max<std::int64_t>(1, options.batch_tokens / context);
  Sums sums;
  for (std::int64_t next = 0, turn = 0; next < windows; ++turn) {
    // The last window may be shorter, and is a batch of its own.
    const std::int64_t end = next < whole ? std::min(next + rows, whole) : windows;
    if (turn % processes().size() == processes().rank()) {
      const data::Batch batch = masked_windows(scoring, ids, cut, next, end);
      sums.add(scoring.scores(batch), batch.labels);
    }
    if (!std::isfinite(sums.nats)) {
      fail(ErrorKind::kNumeric, "the loss became ", sums.nats, " within tokens ", next * context, " to ",
           std::min(end * context, ids.numel()), " of the text");
    }
    next = end;
    if (options.progress) {
      options.progress(std::min(end * context, ids.numel()), ids.numel());
    }
  }
  return sums;
}

}  // namespace

formats::Json to_json(const MaskedResult& result) {
  return {{"loss", result.loss},
          {"masked_accuracy", result.accuracy},
          {"masked_tokens", result.tokens},
          {"context", result.context},
          {"seconds", result.seconds}};
}

std::vector<std::string> masked_figure_names() {
  std::vector<std::string> names;
  const formats::Json figures = to_json(MaskedResult());
  for (const auto& [name, value] : figures.items()) {
    names.push_back(name);
  }
  return names;
}

MaskedResult evaluate_masked(const MaskedScoring& scoring, const std::vector<std::int64_t>& ids,
                             const EvaluateOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  require(!ids.empty(), "a text of at least one token can be evaluated, found none");
  const at::NoGradGuard no_grad;
  const EvaluationMode mode(scoring.model);
  const AutocastGuard autocast(resolved_dtype(options.dtype));
  const Sums sums = score_windows(scoring, at::tensor(ids, at::kLong), options);
  const double tokens = processes().sum(sums.tokens);
  MaskedResult result;
  result.context = options.context;
  result.tokens = static_cast<std::int64_t>(tokens);
  result.loss = processes().sum(sums.nats) / tokens;
  result.accuracy = processes().sum(sums.hits) / tokens;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

MaskedResult evaluate_masked(models::LanguageModel model, const text::Tokenizer& tokenizer, std::string_view text,
                             const data::MaskingOptions& masking, const EvaluateOptions& given) {
  if (model->config().is_decoder) {
    fail(ErrorKind::kUnsupported, "masked tokens need an encoder, and this model is a decoder");
  }
  EvaluateOptions options = given;
  options.context = options.context == 0 ? model->config().max_position_embeddings : options.context;
  const std::vector<std::int64_t> ids = tokenizer.encode(first_bytes(text, options.max_bytes, tokenizer));
  models::check_context(model->config(), std::min(options.context, static_cast<std::int64_t>(ids.size())));
  const MaskedScoring scoring = {
      *model,
      [&](const at::Tensor& tokens, std::int64_t window) { return data::masked_batch(tokens, masking, window, 0); },
      nullptr,
      [&](const data::Batch& batch) {
        return model->token_scores(models::ModelInput{batch.input_ids, {}, {}, {}, {}}, batch.labels);
      }};
  return evaluate_masked(scoring, ids, options);
}

}  // namespace weft::training
