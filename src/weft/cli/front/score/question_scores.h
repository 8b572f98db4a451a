// SPDX-License-Identifier: Apache-2.0
// `weft score hotpotqa`, `triviaqa`, `nq` and `wikihop`: answers to questions over many documents, as the official
// programs score them.
#pragma once

#include <CLI/App.hpp>

namespace weft::cli {

/// Adds the four commands below `weft score`.
void add_question_scores(CLI::App& group);

}  // namespace weft::cli
