// SPDX-License-Identifier: Apache-2.0
// Text generation with a decoder: one token after the other, each behind the state of those before and handed to the
// caller as soon as it is there.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "weft/generation/decoder.h"
#include "weft/generation/sampling.h"

namespace weft::generation {

/// Why the text ends where it does.
enum class FinishReason {
  kLength,       ///< max_new_tokens were made
  kStopToken,    ///< a token of stop_ids came (it is the last of `ids`)
  kCallback,     ///< the caller's callback returned false
  kInterrupted,  ///< weft::interrupted(): Ctrl-C or SIGTERM under a guard
};

/// What was made, and why it ends.
struct GenerationResult {
  std::vector<std::int64_t> ids;  ///< the new tokens only
  FinishReason reason = FinishReason::kLength;
};

/// Called with each new token; false ends the generation.
using TokenCallback = std::function<bool(std::int64_t id)>;

/// Continues `prompt_ids`. Token t of the result is a pure function of the decoder, the prompt and (config.seed, t).
/// Errors: kArgument for an empty prompt, ids outside the vocabulary, a bad config, or more tokens than learned
/// positions; kUnsupported for an encoder; kNumeric when the logits are not finite.
GenerationResult generate(Decoder& decoder, const std::vector<std::int64_t>& prompt_ids, const SamplingConfig& config,
                          const TokenCallback& on_token = {});

/// The same with a language model in evaluation mode; its mode is restored.
GenerationResult generate(const models::LanguageModel& model, const std::vector<std::int64_t>& prompt_ids,
                          const SamplingConfig& config, const TokenCallback& on_token = {});

}  // namespace weft::generation
