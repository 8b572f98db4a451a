// SPDX-License-Identifier: Apache-2.0
// Rules of a TextConfig, and what tasks over text make of it.
#include "weft/training/text_config.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/training/evaluation/evaluation_mode.h"
#include "weft/training/resumption.h"

namespace weft::training {
namespace {

void make_absolute(std::vector<std::string>& paths) {
  for (std::string& path : paths) {
    path = std::filesystem::absolute(path).lexically_normal().string();
  }
}

}  // namespace

void check_config(const TextConfig& config, std::string_view where) {
  check_fields(config, where);
  require(!config.train_text.empty(), where, ": train_text must name a file or folder, found none");
}

TextConfig resolved(TextConfig config) {
  make_absolute(config.train_text);
  make_absolute(config.eval_text);
  return config;
}

TextConfig resumed_text(const formats::Json& recorded, formats::Json& given, const std::filesystem::path& where) {
  // The data themselves are compared, so that files may have moved.
  constexpr std::array<std::string_view, 3> kChangeable = {"train_text", "eval_text", "max_eval_bytes"};
  auto config = resumed_settings<TextConfig>(recorded, given, kChangeable, where);
  check_config(config, quote(where.native(), 4096));
  return config;
}

std::unique_ptr<const text::SubwordSampler> subword_sampler(const TrainerConfig& config,
                                                            const text::Tokenizer& tokenizer) {
  const bool draws = config.bpe_dropout > 0 || config.unigram_alpha > 0;
  return draws ? text::make_subword_sampler(tokenizer, {config.bpe_dropout, config.unigram_alpha}) : nullptr;
}

std::shared_ptr<const data::TextCorpus> held_out_text(const TextConfig& config, const text::Tokenizer& tokenizer,
                                                      std::size_t least) {
  constexpr std::int64_t kEnough = 4096;  // bytes that nearly always are tokens enough
  auto corpus = std::make_shared<data::TextCorpus>(config.eval_text);
  const std::int64_t all = config.max_eval_bytes == 0 ? corpus->bytes() : config.max_eval_bytes;
  const auto tokens_in = [&](std::int64_t most) {
    return tokenizer.encode(first_bytes(corpus->text(most + 4), most, tokenizer)).size();
  };
  std::size_t found = tokens_in(std::min(all, kEnough));
  found = found < least && all > kEnough ? tokens_in(all) : found;
  require(found >= least, "eval_text: ", quoted_list(config.eval_text, 3), " must have at least ", least,
          " tokens, found ", found);
  return corpus;
}

EvaluateOptions evaluation_options(const TrainerConfig& trainer, const TextConfig& config,
                                   const std::function<void(std::int64_t, std::int64_t)>& progress) {
  EvaluateOptions options;
  options.context = config.context;
  options.batch_tokens = std::max(config.context, std::min(options.batch_tokens, trainer.batch_size * config.context));
  options.dtype = trainer.dtype;
  options.progress = progress;
  return options;
}

}  // namespace weft::training
