// SPDX-License-Identifier: Apache-2.0
// Arguments that name a model: a directory, or "organisation/name[@revision]" of the Hub. This is the one place where a
// name becomes a directory: after all flags have been read, and before the command begins. `weft train --model` is a
// field that a config file may give as well: runs/train/request.cpp asks there.
#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "weft/hub/needed_files.h"

namespace weft::cli {

/// Adds an argument or flag that takes a model. `about` is said in help, with the form of a name behind it.
CLI::Option& add_model_argument(CLI::App& app, const std::string& name, std::string& value, const std::string& about,
                                hub::Need need = hub::Need::kModel);

/// The same for an argument that takes several.
CLI::Option& add_model_arguments(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                                 const std::string& about);

/// Replaces every name that was given by its directory. Errors: those of hub::local_model().
void resolve_model_arguments();

/// Forgets the arguments of an app: its values may be gone.
void forget_model_arguments();

}  // namespace weft::cli
