// SPDX-License-Identifier: Apache-2.0
// A setting of generation as a change of scores: what a processor sees, and the list of all of them in the order of
// `transformers`, which matters.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/generation/settings/generation_config.h"

namespace weft::generation {

/// The score of a token that cannot come.
inline constexpr float kImpossible = -std::numeric_limits<float>::infinity();

/// The scores of the next token of one text: logits where one text is written, logarithms of probabilities in beams.
struct RowScores {
  std::span<float> scores;               ///< one a token of the vocabulary
  std::span<const std::int64_t> tokens;  ///< the text so far, prompt included
  std::span<const std::int64_t>
      source;                ///< ids of what the encoder read without padding; of a language model, the prompt
  std::int64_t item = 0;     ///< which prompt of the call it continues
  std::int64_t longest = 0;  ///< tokens with which it ends at the latest
};

/// What is wrong with one prompt of a call. Whoever knows the prompt's name says it in place of the number.
class PromptError : public Error {
 public:
  PromptError(std::int64_t item, std::string problem)
      : Error(ErrorKind::kArgument, concat("text ", item, ": ", problem)), item_(item), problem_(std::move(problem)) {}

  std::int64_t item() const noexcept { return item_; }
  Error named(const std::string& name) const { return {kind(), concat(name, ": ", problem_)}; }
  PromptError of_item(std::int64_t item) const { return {item, problem_}; }

 private:
  std::int64_t item_;
  std::string problem_;
};

/// Changes the scores; keeps nothing between calls, so that rows may run in any order and at once.
using Processor = std::function<void(const RowScores&)>;

/// The tokens that may come next in text `item`, by what is there so far. Called from several threads at once.
using AllowedTokens = std::function<std::vector<std::int64_t>(std::int64_t item, std::span<const std::int64_t> tokens)>;

/// Those that `config` asks for: sequence_bias, encoder_repetition_penalty, repetition_penalty, no_repeat_ngram_size,
/// encoder_no_repeat_ngram_size, bad_words_ids, min_length, `constraint`, forced_bos_token_id, forced_eos_token_id,
/// remove_invalid_values, exponential_decay_length_penalty, suppress_tokens, begin_suppress_tokens; where tokens are
/// drawn temperature, top_h, top_k, top_p, min_p, typical_p, epsilon_cutoff, eta_cutoff; and renormalize_logits.
/// Errors: kArgument for an id that is not below `vocabulary`.
std::vector<Processor> make_processors(const GenerationConfig& config, const Lengths& lengths, std::int64_t vocabulary,
                                       const Processor& constraint = {});

}  // namespace weft::generation
