// SPDX-License-Identifier: Apache-2.0
// The files of training are put aside.
#include "weft/runs/evaluate/pairs.h"

#include <optional>

#include "weft/profile/prune/attention_file.h"
#include "weft/runs/evaluate/trained_settings.h"

namespace weft::runs {
namespace {

fine_tuning::PairConfig pairs_of(const PairsAsked& asked) {
  auto config = trained_settings<fine_tuning::PairConfig>(asked.run, asked.given, asked.heard);
  config.task = asked.task;
  config.train_source.clear();
  config.train_target.clear();
  config.train_data.clear();
  config.alignments.clear();
  config.alignment_field.clear();
  config.train_text.clear();
  const bool plain = fine_tuning::makes_noise(config);
  config.eval_text = plain ? asked.source : std::vector<std::string>();
  config.eval_source = plain ? std::vector<std::string>() : asked.source;
  config.eval_target = asked.target;
  config.eval_data = asked.data;
  return config;
}

// The given mechanisms, in the measurement: a file's for the whole model, an expression for the encoder.
void set_attention(const PairsAsked& asked, const checkpoint::OpenedModel& model,
                   fine_tuning::PairMeasurement& measurement) {
  if (asked.attention.empty()) {
    return;
  }
  measurement.changes["attention"] = asked.attention;
  if (const std::optional<profile::AttentionFile> file = profile::take_attention_file(measurement.changes, true)) {
    file->check_pair(model.facts(checkpoint::Ability::kWrite));
    profile::warn_of_other_model(*file, model.path());
    measurement.graphs = file->graphs();
  }
  fine_tuning::rename_shape_fields(measurement.changes);
}

}  // namespace

fine_tuning::PairMeasurement pair_measurement(const checkpoint::OpenedModel& model, const PairsAsked& asked) {
  fine_tuning::PairMeasurement measurement;
  measurement.pairs = pairs_of(asked);
  measurement.how.dtype = asked.dtype;
  set_attention(asked, model, measurement);
  return measurement;
}

}  // namespace weft::runs
