// SPDX-License-Identifier: Apache-2.0
// What `--distill` asks for: the field list behind its flags and its lines in a run's training.json.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "weft/core/fields.h"
#include "weft/formats/config_json.h"

namespace weft::training {

/// Knowledge distillation (Hinton et al. 2015). Nothing is distilled where `distill` is empty.
struct DistillationConfig {
  std::string distill;
  std::string distill_digest;  // no flag: what the teacher was when the run began
  double distill_weight = 0.5;
  double distill_temperature = 2.0;
  double distill_hidden = 0.0;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = DistillationConfig;
    visit(Field{"distill", &C::distill,
                "model directory of a teacher with the same vocabulary and head, whose predictions the model learns "
                "beside the labels"});
    visit(Field{"distill_digest", &C::distill_digest, "SHA-256 of the teacher's config and weights"});
    visit(Field{"distill_weight", &C::distill_weight,
                "the teacher's share of the loss; the labels have the rest, and with 1 nothing"}
              .range(0, 1));
    visit(Field{"distill_temperature", &C::distill_temperature,
                "what logits of teacher and student are divided by: a larger one shows more of what is improbable"}
              .range(0.01, 1000));
    visit(Field{"distill_hidden", &C::distill_hidden,
                "added to the loss: so many times the mean squared difference of the last hidden states, which must be "
                "of one width"}
              .range(0, 1e6));
  }
};

/// Whether `config` names a teacher.
inline bool distills(const DistillationConfig& config) { return !config.distill.empty(); }

/// Errors: kArgument naming `where`, the field, the rule and the value; for settings of a teacher without one.
void check_config(const DistillationConfig& config, std::string_view where);

/// With an absolute path and the digest of what lies there now. Errors: kIo for a directory without a config.json.
DistillationConfig resolved(DistillationConfig config);

/// Takes the fields of a new run out of `fields`: checked and resolved. `where` names the run in errors.
DistillationConfig take_distillation(formats::Json& fields, std::string_view where);

/// Those of a resumed run: what its training.json records, with what `given` names laid over it, which leaves `given`.
/// The teacher may lie elsewhere and must be the same. Errors: as check_same; kArgument naming the teacher and both
/// digests.
DistillationConfig resumed_distillation(const formats::Json& recorded, formats::Json& given,
                                        const std::filesystem::path& where);

/// What training.json holds of `config`: its fields, or nothing without a teacher.
formats::Json distillation_json(const DistillationConfig& config);

}  // namespace weft::training
