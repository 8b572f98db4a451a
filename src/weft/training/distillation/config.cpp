// SPDX-License-Identifier: Apache-2.0
// A teacher is known by its digest, so that its directory may move.
#include "weft/training/distillation/config.h"

#include <array>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/profile/model_digest.h"
#include "weft/training/resumption.h"
#include "weft/training/run/recorded_path.h"

namespace weft::training {

void check_config(const DistillationConfig& config, std::string_view where) {
  check_fields(config, where);
  const DistillationConfig defaults;
  const bool given = config.distill_weight != defaults.distill_weight ||
                     config.distill_temperature != defaults.distill_temperature ||
                     config.distill_hidden != defaults.distill_hidden;
  require(distills(config) || !given, where,
          ": distill must name a teacher's directory, because distill_weight, distill_temperature or distill_hidden "
          "was given");
}

DistillationConfig resolved(DistillationConfig config) {
  if (distills(config)) {
    config.distill = recorded_path(config.distill);
    if (!ModelFile(config.distill, "config.json").exists()) {
      fail(ErrorKind::kIo, "distill: ", quote(config.distill, 4096),
           " must be a model directory of a teacher, found no config.json in it");
    }
    config.distill_digest = profile::model_digest(config.distill);
  }
  return config;
}

DistillationConfig take_distillation(formats::Json& fields, std::string_view where) {
  DistillationConfig config;
  formats::update_from_json(config, take_fields<DistillationConfig>(fields), where);
  check_config(config, where);
  return resolved(std::move(config));
}

DistillationConfig resumed_distillation(const formats::Json& recorded, formats::Json& given,
                                        const std::filesystem::path& where) {
  const std::string named = quote(where.native(), 4096);
  constexpr std::array<std::string_view, 2> kChangeable = {"distill", "distill_digest"};
  DistillationConfig stands;
  formats::update_from_json(stands, formats::only_fields_of<DistillationConfig>(recorded), named);
  DistillationConfig merged = stands;
  formats::update_from_json(merged, take_fields<DistillationConfig>(given), "training");
  check_same(formats::to_json(stands), formats::to_json(merged), kChangeable, where);
  require(distills(stands) || !distills(merged), named,
          ": this run has no teacher, and distill was given; leave it out");
  const std::string expected = stands.distill_digest;
  merged = resolved(std::move(merged));
  require(merged.distill_digest == expected, "distill: ", Quoted(merged.distill, 4096),
          " is not the teacher that this run began with: ", named, " expects the digest ", Quoted(expected), ", found ",
          merged.distill_digest);
  return merged;
}

formats::Json distillation_json(const DistillationConfig& config) {
  return distills(config) ? formats::to_json(config) : formats::Json::object();
}

}  // namespace weft::training
