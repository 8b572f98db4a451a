// SPDX-License-Identifier: Apache-2.0
// A model is measured as it was trained: settings that are not given are those of its run.
#pragma once

#include <filesystem>

#include "weft/core/disk/model_file.h"
#include "weft/core/quote.h"
#include "weft/formats/config_json.h"
#include "weft/formats/json_members.h"
#include "weft/runs/train/fields.h"
#include "weft/training/run/run_of_model.h"

namespace weft::runs {

/// The settings in the training.json of the run that the model of the directory `run` is of, with what is `given` over
/// them: fields of these settings and of others. The defaults where there is no run. `heard` is told which fields are
/// of that file. Errors: kIo, kFormat naming the file; kArgument for a value that is given wrongly.
template <typename Settings>
Settings trained_settings(const std::filesystem::path& run, const formats::Json& given, const FieldsOfFile& heard) {
  const std::filesystem::path trained = training::run_of(run);
  const ModelFile file(trained, "training.json");
  Settings settings;
  if (!trained.empty() && file.exists()) {
    formats::Json stored = formats::only_fields_of<Settings>(formats::read_json_object(file));
    for (const auto& [name, value] : given.items()) {
      stored.erase(name);
    }
    tell_stored_settings(file, given, heard);
    formats::update_from_json(settings, stored, quote(file.path().native(), 4096));
  }
  formats::update_from_json(settings, formats::only_fields_of<Settings>(given), "weft eval");
  return settings;
}

}  // namespace weft::runs
