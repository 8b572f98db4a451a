// SPDX-License-Identifier: Apache-2.0
// What a model writes for held-out sources while it is trained, and how good that is.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/fine_tuning/pairs/pair_rows.h"
#include "weft/formats/config_json.h"
#include "weft/generation/settings/generation_config.h"
#include "weft/text/pair/pair_tokenizer.h"

namespace weft::fine_tuning {

/// How targets are written.
struct WritingOptions {
  std::int64_t examples = 0;         ///< sources, from the first on
  std::int64_t beams = 1;            ///< 1 is greedy search
  std::int64_t batch_rows = 64;      ///< sources of like lengths at once
  std::int64_t batch_tokens = 4096;  ///< and so many tokens of them; a longer source is read alone
  bool short_targets = true;         ///< kShortTargets
  std::string dtype = "float32";     ///< of products
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};  ///< in batches; may throw to stop
};

/// max_new_tokens_per_source of short targets: a model that has learned nothing never ends.
inline constexpr const char* kShortTargets = "2:16";

/// The search of write_targets(): targets as long as the model has positions, or short ones, without the tokens of
/// padding and start (unless it is the end, too).
generation::GenerationConfig writing_settings(const models::EncoderDecoderConfig& config, std::int64_t beams,
                                              bool short_targets);

/// The texts for the first options.examples sources of `rows`, shared out among the processes that train together and
/// the same in each of them. The model is in evaluation mode. Errors: kNumeric for scores that are not finite.
std::vector<std::string> write_targets(const models::EncoderDecoder& model, const text::PairTokenizer& tokenizer,
                                       const PairRows& rows, const WritingOptions& options);

/// One flat object of what the texts are worth against as many references: bleu (0 to 100, as sacrebleu) of
/// translations; rouge1, rouge2, rougeL and rougeLsum (F1, 0 to 1, with the stemmer, as rouge_score) of summaries. null
/// for no text. `task` is one of kPairTasks.
formats::Json writing_figures(std::string_view task, std::span<const std::string> texts,
                              std::span<const std::string> references);

}  // namespace weft::fine_tuning
