// SPDX-License-Identifier: Apache-2.0
// What makes a run the run that it is: its settings and its data, apart from the places where files lie and the habits
// that change nothing of what is learned. All processes of a run have the same, and so has the run when it goes on.
#pragma once

#include <filesystem>
#include <string_view>

#include "weft/formats/config_json.h"
#include "weft/training/task.h"
#include "weft/training/trainer_config.h"

namespace weft::training {

/// Whether a setting of that name must be the same in all processes: places of files and the number of threads need
/// not.
bool is_shared_setting(std::string_view name);

/// What every process of a run must have (processes/agreement.h): the settings of `training`, a run's training.json,
/// without the number of threads and the places of files; the task's data; the content of the held-out files; name and
/// shape of each parameter. Errors: kIo where a held-out file cannot be read.
formats::Json shared_terms(const formats::Json& training, const Task& task);

/// The settings of a run's training.json that a checkpoint keeps, because a run that goes on must have the same: all
/// that decide what a step learns.
formats::Json lasting_settings(const formats::Json& training);

/// Throws kArgument that names the setting, both values and the file where the settings `now` of a run that goes on are
/// not those that its checkpoint `where` was written with. `recorded` is what lasting_settings() gave then.
void check_lasting(const formats::Json& recorded, const formats::Json& now, const std::filesystem::path& where);

}  // namespace weft::training
