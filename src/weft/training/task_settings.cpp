// SPDX-License-Identifier: Apache-2.0
// An evaluation needs no more memory than a step.
#include "weft/training/task_settings.h"

#include <algorithm>

namespace weft::training {

std::unique_ptr<const text::SubwordSampler> subword_sampler(const TrainerConfig& config,
                                                            const text::Tokenizer& tokenizer) {
  const bool draws = config.bpe_dropout > 0 || config.unigram_alpha > 0;
  return draws ? text::make_subword_sampler(tokenizer, {config.bpe_dropout, config.unigram_alpha}) : nullptr;
}

EvaluateOptions evaluation_options(const TrainerConfig& config,
                                   const std::function<void(std::int64_t, std::int64_t)>& progress) {
  EvaluateOptions options;
  options.context = config.context;
  options.batch_tokens = std::max(config.context, std::min(options.batch_tokens, config.batch_size * config.context));
  options.dtype = config.dtype;
  options.progress = progress;
  return options;
}

}  // namespace weft::training
