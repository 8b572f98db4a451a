// SPDX-License-Identifier: Apache-2.0
// Which task a model's labelled data are for, where nobody says it.
#pragma once

#include <string>

#include "weft/checkpoint/open_model.h"

namespace weft::runs {

/// The task that the model in the directory `run` learned: that of the run's training.json, else the
/// task of the head of `model`, which is that directory's. Errors: UsageError for a model of several tasks or of none,
/// with what to give; those of checkpoint::open_model().
std::string task_of_model(const std::string& run, const checkpoint::ModelOnDemand& model);

/// The task that the head of an encoder is for; empty for a head of none, and for other models. Errors: those of
/// checkpoint::OpenedModel::head().
std::string task_of_head(const checkpoint::OpenedModel& model);

/// The task in the training.json of the run that the model is of; empty without one, and for a run of a language model.
std::string learned_task(const std::string& run);

}  // namespace weft::runs
