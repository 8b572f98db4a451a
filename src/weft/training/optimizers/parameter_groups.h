// SPDX-License-Identifier: Apache-2.0
// Which parameters train, which decay, and how fast each layer learns; and the optimiser that a config asks for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/training/optimizers/optimizer.h"
#include "weft/training/trainer_config.h"

namespace weft::training {

/// Whether weight decay acts on a parameter: matrices do decay; norms, biases and embeddings (a name with "embed") do
/// not.
bool decays(const std::string& name, const at::Tensor& parameter);

/// How far up a parameter stands: 0 for embeddings (a name with "embed"), i + 1 in layer i (the name's first part that
/// is a number), and `layers` + 1 for the rest: last norms, heads.
std::int64_t layer_of(const std::string& name, std::int64_t layers);

/// Stops the parameters whose name matches one of `patterns` from training ('*' any letters, '?' one). Errors:
/// kArgument for a pattern that matches none, or where nothing is left to train.
void freeze(const NamedTensors& parameters, const std::vector<std::string>& patterns);

/// The parameters that train: those that decay before those that do not, and by layer where layer_decay is below 1:
/// the rate of a layer is layer_decay^(top - layer) (Howard and Ruder 2018, section 3.2; Clark et al. 2020).
std::vector<ParameterGroup> parameter_groups(const NamedTensors& parameters, const TrainerConfig& config);

/// adamw, adafactor or lamb over parameter_groups().
std::unique_ptr<Optimizer> make_optimizer(const NamedTensors& parameters, const TrainerConfig& config);

}  // namespace weft::training
