// SPDX-License-Identifier: Apache-2.0
// From a text and a model to bits per byte; the windows are those of window_scoring.h.
#include "weft/training/evaluation/evaluate.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "weft/core/error.h"
#include "weft/metrics/likelihood.h"
#include "weft/training/evaluation/evaluation_mode.h"
#include "weft/training/evaluation/segment_scoring.h"
#include "weft/training/evaluation/window_scoring.h"
#include "weft/training/precision.h"
#include "weft/training/processes/process_group.h"
#include "weft/training/trainer_config.h"

namespace weft::training {

namespace {

// Figures over what was scored.
EvalResult figures_of(double nats, std::int64_t tokens, std::string_view scored, bool characters) {
  const metrics::TextUnits units = metrics::count_units(scored);
  const auto line_ends = std::count_if(scored.begin(), scored.end(), [](char c) { return c == '\n' || c == '\r'; });
  EvalResult result;
  result.bytes = units.bytes;
  result.characters = characters ? units.characters : 0;
  result.tokens = tokens;
  result.bits_per_byte = metrics::bits_per_unit(nats, units.bytes);
  result.bits_per_character = characters ? metrics::bits_per_unit(nats, units.characters) : 0.0;
  result.perplexity = metrics::perplexity(nats, tokens);
  if (characters && units.bases > 0 && units.bases + line_ends == units.bytes) {
    result.bits_per_base = metrics::bits_per_unit(nats, units.bases);
  }
  return result;
}

TokenReport token_report(const text::Tokenizer& tokenizer, std::string_view text, const EvaluateOptions& options) {
  if (!options.scored) {
    return {};
  }
  if (!processes().is_alone()) {
    fail(ErrorKind::kUnsupported, "scores of single tokens need one process, found ", processes().size());
  }
  return {token_places(tokenizer, text), options.scored};
}

void check_zeros(const models::TransformerConfig& config) {
  require(config.memory_length > 0 && config.compressed_memory_length == 0 && config.norm_position == "post",
          "zeros before a text are rows of the memory of a Transformer-XL as released, found norm_position ",
          config.norm_position, ", memory_length ", config.memory_length, " and compressed_memory_length ",
          config.compressed_memory_length);
}

}  // namespace

formats::Json to_json(const EvalResult& result) {
  formats::Json json = {{"bits_per_byte", result.bits_per_byte}};
  if (result.characters > 0) {
    json["bits_per_character"] = result.bits_per_character;
  }
  if (result.bits_per_base > 0) {
    json["bits_per_base"] = result.bits_per_base;
  }
  json.update({{"perplexity", result.perplexity}, {"bytes", result.bytes}});
  if (result.characters > 0) {
    json["characters"] = result.characters;
  }
  json.update({{"tokens", result.tokens}, {"context", result.context}});
  if (result.memory > 0) {
    json["memory"] = result.memory;
  }
  json["seconds"] = result.seconds;
  return json;
}

std::vector<std::string> figure_names(std::string_view text, bool characters) {
  std::vector<std::string> names;
  const formats::Json figures = to_json(figures_of(1.0, 1, text, characters));
  for (const auto& [name, value] : figures.items()) {
    names.push_back(name);
  }
  return names;
}

EvalResult evaluate(models::LanguageModel model, const text::Tokenizer& tokenizer, std::string_view text,
                    const EvaluateOptions& options) {
  if (!model->config().is_decoder) {
    fail(ErrorKind::kUnsupported, "bits per byte need a decoder, and this model is an encoder");
  }
  if (options.behind_zeros) {
    check_zeros(model->config());
  }
  const auto start = std::chrono::steady_clock::now();
  const WindowOptions windows{options.context == 0 ? model->config().max_position_embeddings : options.context,
                              options.batch_tokens, options.progress, processes().rank(), processes().size()};
  const std::string_view scored = first_bytes(text, options.max_bytes, tokenizer);
  const std::vector<std::int64_t> ids = tokenizer.encode(scored);
  require(ids.size() >= 2, "a text of at least two tokens can be evaluated, found ", ids.size());
  models::check_context(model->config(), std::min(windows.context, static_cast<std::int64_t>(ids.size())));

  const at::NoGradGuard no_grad;
  const EvaluationMode mode(*model);
  const AutocastGuard autocast(resolved_dtype(options.dtype));
  TokenReport report = token_report(tokenizer, scored, options);
  const auto note = [&](const models::TokenScores& scores, const at::Tensor& labels) {
    report.add(scores.nats, scores.hits, labels);
  };
  const auto losses = [&](const at::Tensor& inputs, const at::Tensor& labels) {
    const models::TokenScores scores = model->token_scores(models::ModelInput{inputs, {}, {}, {}, {}}, labels);
    note(scores, labels);
    return scores.nats;
  };
  const std::int64_t memory = model->config().memory_length;
  const at::Tensor tokens = at::tensor(ids, at::kLong);
  const MemoryBegin begin = options.behind_zeros ? MemoryBegin::kZeros : MemoryBegin::kEmpty;
  const double nats = memory > 0 ? segment_nats(model, tokens, windows, note, begin)
                                 : processes().sum(summed_nats(losses, tokens, windows));
  // The bytes of the first token are not scored: nothing stands before it. One byte is left where a token is the whole
  // text.
  const std::size_t first = std::min(tokenizer.decode({ids.front()}).size(), scored.size() - 1);
  EvalResult result =
      figures_of(nats, static_cast<std::int64_t>(ids.size()) - 1, scored.substr(first), options.characters);
  result.context = windows.context;
  result.memory = memory;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace weft::training
