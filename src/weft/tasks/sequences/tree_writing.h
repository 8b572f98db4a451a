// SPDX-License-Identifier: Apache-2.0
// A model that learned to write trees (weft data trees) writes nothing else.
#pragma once

#include <string>

#include "weft/readers/trees/linear_tree.h"
#include "weft/tasks/sequences/sequence_model.h"

namespace weft::tasks {

/// What all trees of a file are made of, one a line as `weft data trees` writes them into NAME.trees. Errors: kIo;
/// kFormat naming file and line for what is no tree, and for a file without one.
readers::LinearSymbols symbols_in(const std::string& path);

/// From now on `model` writes one balanced tree of these labels for each source, over the source's words or as many XX
/// (generation::keep_trees). Errors: as there; kArgument for a model that writes from right to left.
void write_trees(SequenceModel& model, readers::LinearSymbols symbols);

}  // namespace weft::tasks
