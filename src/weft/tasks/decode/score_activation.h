// SPDX-License-Identifier: Apache-2.0
// What makes a cross-encoder's score of its logit: a class of torch.nn, with that class's default arguments.
#pragma once

#include <string>
#include <string_view>

namespace weft::tasks {

struct ScoreActivation {
  std::string_view name;              ///< of the class: "Sigmoid"
  double (*apply)(double) = nullptr;  ///< increasing, so that the best logit has the best score
};

/// The class of an import path, "torch.nn.modules.activation.Sigmoid" say. Errors: kArgument naming `where` it stands
/// for another one than Identity, Sigmoid, LogSigmoid, Tanh, ReLU, LeakyReLU, ELU, Softplus and Softsign, and for
/// Softmax, which gives the only label of a pair the score 1.
const ScoreActivation& score_activation(std::string_view path, std::string_view where);

}  // namespace weft::tasks
