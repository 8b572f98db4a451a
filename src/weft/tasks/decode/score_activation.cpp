// SPDX-License-Identifier: Apache-2.0
// In float64: two logits of 20 and 21 are the same score in float32.
#include "weft/tasks/decode/score_activation.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::tasks {
namespace {

double identity(double x) { return x; }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double log_sigmoid(double x) { return -softplus(-x); }
double hyperbolic_tangent(double x) { return std::tanh(x); }
double relu(double x) { return std::max(x, 0.0); }
double leaky_relu(double x) { return x > 0 ? x : 0.01 * x; }
double elu(double x) { return x > 0 ? x : std::expm1(x); }
double softsign(double x) { return x / (1 + std::abs(x)); }

constexpr std::array<ScoreActivation, 9> kActivations = {{{"Identity", identity},
                                                          {"Sigmoid", sigmoid},
                                                          {"LogSigmoid", log_sigmoid},
                                                          {"Tanh", hyperbolic_tangent},
                                                          {"ReLU", relu},
                                                          {"LeakyReLU", leaky_relu},
                                                          {"ELU", elu},
                                                          {"Softplus", softplus},
                                                          {"Softsign", softsign}}};

}  // namespace

const ScoreActivation& score_activation(std::string_view path, std::string_view where) {
  constexpr std::string_view kPrefix = "torch.nn.";
  const std::string_view name = path.starts_with(kPrefix) ? path.substr(path.rfind('.') + 1) : std::string_view();
  const auto* const found = std::find_if(kActivations.begin(), kActivations.end(),
                                         [&](const ScoreActivation& activation) { return activation.name == name; });
  if (found != kActivations.end()) {
    return *found;
  }
  constexpr const char* kHint = "raw scores (--raw-scores) need no activation";
  if (name == "Softmax") {
    throw Error(ErrorKind::kArgument,
                concat(where, ": the activation ", quote(path), " gives the one label of each pair the score 1"),
                kHint);
  }
  std::string known;
  for (const ScoreActivation& activation : kActivations) {
    known += concat(known.empty() ? "" : ", ", activation.name);
  }
  throw Error(ErrorKind::kArgument,
              concat(where, ": the activation is ", quote(path), "; expected a class of torch.nn, one of ", known),
              kHint);
}

}  // namespace weft::tasks
