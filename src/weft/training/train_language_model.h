// SPDX-License-Identifier: Apache-2.0
// `weft train` as two calls: a new run over text, and one that goes on. Both stop with an Error as Trainer::run does.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "weft/checkpoint/open_model.h"
#include "weft/formats/config_json.h"
#include "weft/models/transformer_config.h"
#include "weft/text/tokenizer.h"
#include "weft/training/distillation/config.h"
#include "weft/training/text_config.h"
#include "weft/training/trainer.h"

namespace weft::training {

/// A run over text: how it is trained, on what, and from which teacher.
struct TextRun {
  TrainerConfig trainer;
  TextConfig text;
  DistillationConfig distillation = {};
};

/// Builds the model from `model` and the trainer's seed and trains it in a new run directory.
/// `model.vocab_size` is data::model_vocabulary(tokenizer, model.is_decoder). A decoder learns the next token, an
/// encoder masked ones.
TrainResult train_language_model(const std::filesystem::path& run, const TextRun& given,
                                 const models::TransformerConfig& model,
                                 std::shared_ptr<const text::Tokenizer> tokenizer);

/// Mechanisms in place of those of the model that a run goes on from, and where files that they name lie.
struct FirstPatterns {
  std::vector<std::string> attention;  ///< empty: the model's own
  std::filesystem::path directory;
};

/// The same from the weights and with the tokeniser of a directory of Weft's own, such as another run. The optimiser
/// begins anew. Errors: as checkpoint::load_model.
TrainResult train_further(const std::filesystem::path& run, const TextRun& given, const checkpoint::OpenedModel& model,
                          const FirstPatterns& patterns = {});

/// Goes on with a run. `given` holds the fields a user has set again, of TrainerConfig, TextConfig and
/// TransformerConfig alike; each must be what the run has, but for those that resumed_trainer() and resumed_text() let
/// change. Errors: kArgument that names the
/// field, both values and the file.
TrainResult resume_language_model(const std::filesystem::path& run,
                                  const formats::Json& given = formats::Json::object());

}  // namespace weft::training
