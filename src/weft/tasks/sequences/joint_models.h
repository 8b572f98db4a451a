// SPDX-License-Identifier: Apache-2.0
// Several model directories that write together (an ensemble): one vocabulary, checked token by token.
#pragma once

#include <span>
#include <vector>

#include "weft/generation/joint_decoder.h"
#include "weft/tasks/sequences/sequence_model.h"

namespace weft::tasks {

/// From now on `model` writes with `others`, each with a weight, that of `model` first (empty: equal ones). It reads as
/// much as all of them read, and its search is its own. Errors: kArgument naming both models where they have other
/// tokens, another frame or start, or write in the other direction; those of generation::joint_weights().
void join_models(SequenceModel& model, std::span<const SequenceModel> others, std::vector<double> weights,
                 generation::JointMean mean);

/// Weights as text, "0.5". Errors: UsageError naming the option for what is no number from 0 on, and where all are 0.
std::vector<double> weights_of(std::span<const std::string> texts);

}  // namespace weft::tasks
