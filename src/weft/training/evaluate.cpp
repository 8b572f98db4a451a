// SPDX-License-Identifier: Apache-2.0
// From a text and a model to bits per byte; the windows are those of window_scoring.h.
#include "weft/training/evaluate.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <chrono>
#include <numbers>
#include <vector>

#include "weft/core/error.h"
#include "weft/training/precision.h"
#include "weft/training/processes/process_group.h"
#include "weft/training/trainer_config.h"
#include "weft/training/window_scoring.h"

namespace weft::training {
namespace {

// Evaluation mode for a while.
class EvaluationMode {
 public:
  explicit EvaluationMode(models::LanguageModel& model) : model_(model), training_before_(model->is_training()) {
    model_->eval();
  }
  ~EvaluationMode() { model_->train(training_before_); }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  models::LanguageModel& model_;
  bool training_before_;
};

// `text` cut to at most `maximum` bytes, at the start of a UTF-8 character unless bytes are the vocabulary.
std::string_view cut(std::string_view text, std::int64_t maximum, bool bytes) {
  if (maximum <= 0 || static_cast<std::int64_t>(text.size()) <= maximum) {
    return text;
  }
  auto end = static_cast<std::size_t>(maximum);
  while (!bytes && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  return text.substr(0, end);
}

}  // namespace

EvalResult evaluate(models::LanguageModel model, const text::Tokenizer& tokenizer, std::string_view text,
                    const EvaluateOptions& options) {
  if (!model->config().is_decoder) {
    fail(ErrorKind::kUnsupported, "bits per byte need a decoder, and this model is an encoder");
  }
  const auto start = std::chrono::steady_clock::now();
  const WindowOptions windows{options.context == 0 ? model->config().max_position_embeddings : options.context,
                              options.batch_tokens, options.progress, processes().rank(), processes().size()};
  const std::string_view scored = cut(text, options.max_bytes, tokenizer.kind() == "bytes");
  const std::vector<std::int64_t> ids = tokenizer.encode(scored);
  require(ids.size() >= 2, "a text of at least two tokens can be evaluated, found ", ids.size());

  const at::NoGradGuard no_grad;
  const EvaluationMode mode(model);
  const AutocastGuard autocast(settled_dtype(options.dtype));
  const auto losses = [&](const at::Tensor& inputs, const at::Tensor& labels) {
    return model->token_losses(models::ModelInput{inputs, {}, {}, {}}, labels);
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
