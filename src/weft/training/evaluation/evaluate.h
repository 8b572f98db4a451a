// SPDX-License-Identifier: Apache-2.0
// Bits per byte of a text under a decoder: each byte but the first is scored exactly once, with at least half a context
// before it where the text has it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "weft/formats/config_json.h"
#include "weft/models/language_model.h"
#include "weft/text/tokenizer.h"
#include "weft/training/evaluation/window_scoring.h"

namespace weft::training {

/// How much of a text is scored, and in which windows.
struct EvaluateOptions {
  std::int64_t context = 0;           ///< tokens the model sees at once; 0 for its max_position_embeddings
  std::int64_t max_bytes = 0;         ///< of the text, from its start; 0 for all
  std::int64_t batch_tokens = 16384;  ///< tokens in flight; at least one window
  std::string dtype = "auto";         ///< auto, float32 or bfloat16
  std::int64_t mask_window = 0;       ///< of an encoder: tokens of text that are masked together (evaluate_masked.h)
  bool characters = true;             ///< whether the bytes are of text, which has characters
  bool behind_zeros = false;  ///< a memory begins with memory_length rows of zeros in every layer, as Transformer-XL in
                              ///< `transformers` 4, where they take weight from the first tokens
  std::function<void(std::int64_t done, std::int64_t total)> progress;  ///< in tokens; may throw to stop
  std::function<void(const TokenScore& score)> scored;  ///< each scored token once, in the order of the text
};

/// Bits a unit are summed nats / (ln 2 * units), whatever the vocabulary; perplexity is exp(nats / tokens) and compares
/// within one vocabulary. What was scored is the text without its first token.
struct EvalResult {
  double bits_per_byte = 0.0;
  double bits_per_character = 0.0;  ///< code points; 0, as they are, for what is no text
  double bits_per_base = 0.0;       ///< of a text of nothing but bases and line ends; 0 for any other
  double perplexity = 0.0;
  std::int64_t bytes = 0;
  std::int64_t characters = 0;
  std::int64_t tokens = 0;
  std::int64_t context = 0;
  std::int64_t memory = 0;  ///< tokens remembered before each segment; 0: windows that overlap by half
  double seconds = 0.0;
};

/// {"bits_per_byte", "bits_per_character" of text, "bits_per_base" for a genome, "perplexity", "bytes", "characters" of
/// text, "tokens", "context", "memory" where there is one, "seconds"}.
formats::Json to_json(const EvalResult& result);

/// The names in to_json() of an evaluation of `text`, without evaluating it. `characters` as in EvaluateOptions.
std::vector<std::string> figure_names(std::string_view text, bool characters = true);

/// A model with a memory (memory_length) scores the text in segments of `context` tokens, each behind the last
/// memory_length ones before it. Any other scores windows; processes that train together share them, and each gets the
/// result.
/// Errors: kUnsupported for an encoder, and for `options.scored` with several processes or as window_scoring.h says;
/// kArgument for a text of fewer than two tokens or a context the model cannot have, and for zeros before a model
/// without a memory, with a compressed one, or that norms what it remembers; kNumeric when a loss is not finite.
EvalResult evaluate(models::LanguageModel model, const text::Tokenizer& tokenizer, std::string_view text,
                    const EvaluateOptions& options = {});

}  // namespace weft::training
