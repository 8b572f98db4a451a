// SPDX-License-Identifier: Apache-2.0
// What a training is asked to do, decided once: options over a config file over defaults, and from them which of nine
// things each run is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "weft/checkpoint/open_model.h"
#include "weft/formats/config_json.h"
#include "weft/runs/train/fields.h"

namespace weft::runs {

/// What is asked for.
struct TrainOptions {
  std::string out;                                ///< run directory to make, or to go on with
  std::string config_file;                        ///< JSON with fields, under those that are given; or none
  std::string tokenizer_file;                     ///< of a new language model; empty: the 256 bytes
  std::string task;                               ///< empty: that of the run, of the config file, or a language model
  formats::Json given = formats::Json::object();  ///< fields of every config that a run has
  bool encoder = false;                           ///< the same as the task mlm
  std::int64_t seeds = 1;                         ///< runs, each in a folder of `out` where there are several
  bool resume = false;
  FieldsOfFile heard = {};
};

/// The ways to train. "Own" models are language models in Weft's directories, "encoders" those in Hugging Face's.
enum class Training {
  kNewModel,        ///< an own model from random weights: a decoder, or an encoder that learns masked tokens
  kFurtherModel,    ///< an own model that goes on from the weights of a directory
  kFurtherEncoder,  ///< an encoder that goes on to learn masked tokens
  kFineTuning,      ///< an encoder that learns a task from examples
  kPairs,           ///< an encoder-decoder that learns pairs of texts, from random weights or those of a directory
  kResumedModel,    ///< a run of an own model
  kResumedEncoder,  ///< a run of an encoder that learns masked tokens
  kResumedFineTuning,
  kResumedPairs,
};

/// Whether a run directory is there already, or made.
bool is_resumed(Training training);

/// One run to carry out.
struct TrainRequest {
  Training training = Training::kNewModel;
  std::string task;      ///< lm, mlm, a fine-tuning task, translate, summarize or denoise
  std::string out;       ///< run directory
  formats::Json fields;  ///< of every config that the run has; those that were given
  std::string tokenizer_file;
  std::filesystem::path beside;  ///< directory of the files that the attention names
  bool is_pruned = false;        ///< the attention is of an attention "@FILE"
  /// Where the run learns plain text: the model that it goes on from, or that of the run which is resumed.
  std::optional<checkpoint::OpenedModel> model = {};
  FieldsOfFile heard = {};
};

/// The runs that the options ask for: one, or one a seed, in the order of the seeds. Errors: UsageError for options
/// that do not go together; kFormat for a field that there is not; kIo, kFormat for a config file, or a directory to
/// begin with or to resume, that cannot be read; kArgument for a task or model that a file names wrongly, and for one
/// of several new runs whose directory is taken.
std::vector<TrainRequest> decide(const TrainOptions& options);

}  // namespace weft::runs
