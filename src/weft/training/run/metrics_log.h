// SPDX-License-Identifier: Apache-2.0
// What is measured while training: one JSON line an entry in metrics.jsonl, and the same figures as TensorBoard
// scalars.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "weft/formats/config_json.h"
#include "weft/formats/event_file.h"
#include "weft/formats/json_lines.h"

namespace weft::training {

/// Whether a line of metrics.jsonl is an evaluation: {"step": whole number, "eval": {figures}}. One that a person has
/// edited may lack either.
bool is_evaluation(const formats::Json& line);

/// Both records of one run, opened for appending.
class MetricsLog {
 public:
  /// Opens the log of a run that stands at `step`: what a killed process wrote about later steps is cut.
  /// A line that is no JSON object is left out of everything below.
  MetricsLog(const std::filesystem::path& run, std::int64_t step);

  /// Figures of a training step: {"step", "loss", ...}. `entry` gets "time", seconds since 1970. Errors: kIo.
  void train(formats::Json entry) { append(std::move(entry), "train/"); }
  /// Figures of an evaluation: {"step", "eval": {...}}; TensorBoard has them as eval/<name>.
  void evaluation(std::int64_t step, const formats::Json& figures);
  /// A run that goes on to another length: {"step", "length": {...}}.
  void length(std::int64_t step, const formats::Json& change);
  /// Every evaluation that the log has: its step and figures, in order.
  std::vector<std::pair<std::int64_t, formats::Json>> evaluations() const;
  /// Everything written so far is on disk after this. Errors: kIo.
  void sync();

 private:
  void append(formats::Json entry, const char* tag_prefix);

  std::filesystem::path path_;
  formats::JsonLinesWriter lines_;
  formats::EventWriter events_;
};

}  // namespace weft::training
