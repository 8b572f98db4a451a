// SPDX-License-Identifier: Apache-2.0
// A prompt and the texts that a language model writes behind it, piece by piece where there is one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/formats/config_json.h"
#include "weft/generation/search/search.h"
#include "weft/text/tokenizer.h"

namespace weft::generation {

/// Who is told what on the way.
struct ContinuationListener {
  /// Once, before the first token: the prompt has room.
  std::function<void()> begins = {};
  /// Each piece of the only text as it comes; the last one may complete what was held back. False ends the generation.
  /// Not called with beams or for several texts.
  std::function<bool(const std::string& piece)> takes = {};
  /// Whether the texts are still wanted. Called from several threads at once.
  std::function<bool()> waits = {};
};

/// Whether `takes` is called: one text, no beams.
bool comes_in_pieces(const GenerationConfig& config);

/// The texts behind `prompt`, best first. Errors: those of the tokeniser and of search(); kArgument for an
/// empty prompt and one that leaves no room.
std::vector<Sequence> continue_text(Decoder& decoder, const text::Tokenizer& tokenizer, const std::string& prompt,
                                    const GenerationConfig& config, const ContinuationListener& listener);

/// What `weft generate --json` prints of them: [{"prompt", "generated_text", "new_tokens", "finish_reason"}], with
/// beams also "score".
formats::Json texts_json(const std::vector<Sequence>& texts, const text::Tokenizer& tokenizer,
                         const std::string& prompt, const GenerationConfig& config);

/// "length", "stop_token", "stop_string", "output_closed" or "interrupted".
std::string finish_reason(FinishReason reason);

}  // namespace weft::generation
