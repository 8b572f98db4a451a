// SPDX-License-Identifier: Apache-2.0
// One text after one prompt, token by token, each handed to the caller as soon as it is there: search() for the usual
// case.
#pragma once

#include <cstdint>
#include <functional>

#include "weft/generation/search/search.h"

namespace weft::generation {

/// What was made, and why it ends; its score is 0 where no beams were searched.
using GenerationResult = Sequence;

/// Called with each new token; false ends the generation. Not with beams.
using TokenCallback = std::function<bool(std::int64_t id)>;

/// Continues `prompt_ids`; the best text where several are asked for. Token t of the result is a pure function of the
/// decoder, the prompt and (config.seed, t). Errors: those of search(); kUnsupported for an encoder.
GenerationResult generate(Decoder& decoder, const Ids& prompt_ids, const GenerationConfig& config,
                          const TokenCallback& on_token = {});

/// The same with a language model in evaluation mode; its mode is restored.
GenerationResult generate(const models::LanguageModel& model, const Ids& prompt_ids, const GenerationConfig& config,
                          const TokenCallback& on_token = {});

}  // namespace weft::generation
