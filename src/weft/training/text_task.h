// SPDX-License-Identifier: Apache-2.0
// What every task over text makes of its configs before the first step: other tokens for the same text, the held-out
// text, and how evaluations between steps run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "weft/data/text_corpus.h"
#include "weft/data/token_source.h"
#include "weft/formats/config_json.h"
#include "weft/text/sampling/subword_sampler.h"
#include "weft/training/evaluation/evaluate.h"
#include "weft/training/text_config.h"

namespace weft::training {

/// The draws of training text in other tokens that `config` asks for, or null. Errors: as text::make_subword_sampler.
std::unique_ptr<const text::SubwordSampler> subword_sampler(const TrainerConfig& config,
                                                            const text::Tokenizer& tokenizer);

/// The run of bytes that a config's files of text or sound hold: those to train on, or those held out.
std::shared_ptr<const data::TextCorpus> corpus_of(const TextConfig& config, const std::vector<std::string>& paths);

/// What a checkpoint keeps of the text that a run learns from: its tokens, and a digest of all of them. Reads all.
formats::Json identity_of(const data::TokenSource& source);

/// The held-out text or sound, checked now for what an evaluation needs at the end. Errors: kIo naming the file;
/// kArgument for text of fewer than `least` tokens.
std::shared_ptr<const data::TextCorpus> held_out_text(const TextConfig& config, const text::Tokenizer& tokenizer,
                                                      std::size_t least);

/// Evaluations between steps: windows of the training's context, and no more tokens in flight than a batch has, so that
/// an evaluation needs no more memory than a step.
EvaluateOptions evaluation_options(const TrainerConfig& trainer, const TextConfig& config,
                                   const std::function<void(std::int64_t, std::int64_t)>& progress);

}  // namespace weft::training
