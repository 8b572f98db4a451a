// SPDX-License-Identifier: Apache-2.0
// A model that learned to write trees (weft data trees) writes nothing else.
#pragma once

#include <set>
#include <string>

#include "weft/tasks/sequences/sequence_model.h"

namespace weft::tasks {

/// The labels of all trees of a file, one a line as `weft data trees` writes them into NAME.trees. Errors: kIo; kFormat
/// naming file and line for what is no tree, and for a file without one.
std::set<std::string> labels_in(const std::string& path);

/// From now on `model` writes one balanced tree of these labels for each source, with as many XX as the source has
/// words (generation::keep_trees). Errors: as there; kArgument for a model that writes from right to left.
void write_trees(SequenceModel& model, std::set<std::string> labels);

}  // namespace weft::tasks
