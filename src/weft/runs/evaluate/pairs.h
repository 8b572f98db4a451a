// SPDX-License-Identifier: Apache-2.0
// What an encoder-decoder is measured on, decided from what is given and from its run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "weft/checkpoint/open_model.h"
#include "weft/fine_tuning/pairs/pair_measurement.h"
#include "weft/formats/config_json.h"
#include "weft/runs/train/fields.h"

namespace weft::runs {

/// Pairs of files, or files of records; what else is given.
struct PairsAsked {
  std::filesystem::path run;  ///< of the model
  std::string task;           ///< translate or summarize
  std::vector<std::string> source;
  std::vector<std::string> target;
  std::vector<std::string> data;
  std::vector<std::string> attention;  ///< in place of the model's: one, one a layer of the encoder, or "@FILE"
  std::string dtype = "auto";
  formats::Json given = formats::Json::object();  ///< fields of PairConfig
  FieldsOfFile heard = {};
};

/// For fine_tuning::measure_pairs(): how the run's pairs were read, but for what is given, and the given files. Errors:
/// those of trained_settings() and profile::take_attention_file(); kArgument for patterns of another shape.
fine_tuning::PairMeasurement pair_measurement(const checkpoint::OpenedModel& model, const PairsAsked& asked);

}  // namespace weft::runs
