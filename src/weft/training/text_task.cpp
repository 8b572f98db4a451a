// SPDX-License-Identifier: Apache-2.0
// The held-out text is looked at before the first step, so that no run fails at its first evaluation.
#include "weft/training/text_task.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/training/evaluation/evaluation_mode.h"
#include "weft/training/task.h"

namespace weft::training {

std::unique_ptr<const text::SubwordSampler> subword_sampler(const TrainerConfig& config,
                                                            const text::Tokenizer& tokenizer) {
  const bool draws = config.bpe_dropout > 0 || config.unigram_alpha > 0;
  return draws ? text::make_subword_sampler(tokenizer, {config.bpe_dropout, config.unigram_alpha}) : nullptr;
}

std::shared_ptr<const data::TextCorpus> corpus_of(const TextConfig& config, const std::vector<std::string>& paths) {
  const data::Content sound = config.audio_channel == "first" ? data::Content::kFirstChannel : data::Content::kSound;
  return std::make_shared<data::TextCorpus>(paths, 0,
                                            data_kind(config) == DataKind::kSound ? sound : data::Content::kText);
}

formats::Json identity_of(const data::TokenSource& source) {
  return {{"tokens", source.size()},
          {"fingerprint", fingerprint_text(data::fingerprint(source))},
          {"content", data::content_digest(source)}};
}

std::shared_ptr<const data::TextCorpus> held_out_text(const TextConfig& config, const text::Tokenizer& tokenizer,
                                                      std::size_t least) {
  constexpr std::int64_t kEnough = 4096;  // bytes that nearly always are tokens enough
  auto corpus = corpus_of(config, held_out_paths(config));
  corpus->remember_content();  // it is read at each evaluation
  const std::int64_t all = config.max_eval_bytes == 0 ? corpus->bytes() : config.max_eval_bytes;
  const auto tokens_in = [&](std::int64_t most) {
    return tokenizer.encode(first_bytes(corpus->text(most + 4), most, tokenizer)).size();
  };
  std::size_t found = tokens_in(std::min(all, kEnough));
  found = found < least && all > kEnough ? tokens_in(all) : found;
  require(
      found >= least, "eval_text: ", [&] { return quoted_list(held_out_paths(config), 3); }, " must have at least ",
      least, " tokens, found ", found);
  return corpus;
}

EvaluateOptions evaluation_options(const TrainerConfig& trainer, const TextConfig& config,
                                   const std::function<void(std::int64_t, std::int64_t)>& progress) {
  EvaluateOptions options;
  options.context = config.context;
  options.batch_tokens = std::max(config.context, std::min(options.batch_tokens, trainer.batch_size * config.context));
  options.dtype = trainer.dtype;
  options.characters = data_kind(config) == DataKind::kText;
  options.progress = progress;
  return options;
}

}  // namespace weft::training
