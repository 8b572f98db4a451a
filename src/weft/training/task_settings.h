// SPDX-License-Identifier: Apache-2.0
// What tasks over text make of the trainer's settings.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "weft/data/text_corpus.h"
#include "weft/text/sampling/subword_sampler.h"
#include "weft/training/evaluation/evaluate.h"
#include "weft/training/trainer_config.h"

namespace weft::training {

/// The draws of training text in other tokens that `config` asks for, or null. Errors: as text::make_subword_sampler.
std::unique_ptr<const text::SubwordSampler> subword_sampler(const TrainerConfig& config,
                                                            const text::Tokenizer& tokenizer);

/// The text of config.eval_text, checked now for what an evaluation needs at the end. Errors: kIo naming the file;
/// kArgument for text of fewer than `least` tokens.
std::shared_ptr<const data::TextCorpus> held_out_text(const TrainerConfig& config, const text::Tokenizer& tokenizer,
                                                      std::size_t least);

/// Evaluations between steps: windows of the training's context, and no more tokens in flight than a batch has.
EvaluateOptions evaluation_options(const TrainerConfig& config,
                                   const std::function<void(std::int64_t, std::int64_t)>& progress);

}  // namespace weft::training
