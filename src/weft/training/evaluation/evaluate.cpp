// SPDX-License-Identifier: Apache-2.0
// From a text and a model to bits per byte; the windows are those of window_scoring.h.
#include "weft/training/evaluation/evaluate.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <chrono>
#include <numbers>
#include <vector>

#include "weft/core/error.h"
#include "weft/training/evaluation/evaluation_mode.h"
#include "weft/training/evaluation/window_scoring.h"
#include "weft/training/precision.h"
#include "weft/training/processes/process_group.h"
#include "weft/training/trainer_config.h"

namespace weft::training {

formats::Json to_json(const EvalResult& result) {
  return {{"bits_per_byte", result.bits_per_byte},
          {"bytes", result.bytes},
          {"context", result.context},
          {"seconds", result.seconds}};
}

EvalResult evaluate(models::LanguageModel model, const text::Tokenizer& tokenizer, std::string_view text,
                    const EvaluateOptions& options) {
  if (!model->config().is_decoder) {
    fail(ErrorKind::kUnsupported, "bits per byte need a decoder, and this model is an encoder");
  }
  const auto start = std::chrono::steady_clock::now();
  const WindowOptions windows{options.context == 0 ? model->config().max_position_embeddings : options.context,
                              options.batch_tokens, options.progress, processes().rank(), processes().size()};
  const std::string_view scored = first_bytes(text, options.max_bytes, tokenizer);
  const std::vector<std::int64_t> ids = tokenizer.encode(scored);
  require(ids.size() >= 2, "a text of at least two tokens can be evaluated, found ", ids.size());

  const at::NoGradGuard no_grad;
  const EvaluationMode mode(*model);
  const AutocastGuard autocast(settled_dtype(options.dtype));
  const auto losses = [&](const at::Tensor& inputs, const at::Tensor& labels) {
    return model->token_scores(models::ModelInput{inputs, {}, {}, {}}, labels).nats;
  };
  EvalResult result;
  const double nats = processes().sum(summed_nats(losses, at::tensor(ids, at::kLong), windows));
  // The bytes of the first token are not scored: nothing stands before it. One byte is left where a token is the whole
  // text.
  const std::size_t first = std::min(tokenizer.decode({ids.front()}).size(), scored.size() - 1);
  result.bytes = static_cast<std::int64_t>(scored.size() - first);
  result.bits_per_byte = nats / std::numbers::ln2 / static_cast<double>(result.bytes);
  result.context = windows.context;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace weft::training
