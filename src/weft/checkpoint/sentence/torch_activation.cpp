// SPDX-License-Identifier: Apache-2.0
// One table for both uses.
#include "weft/checkpoint/sentence/torch_activation.h"

#include <ATen/ops/elu.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/mish.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/relu6.h>
#include <ATen/ops/selu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/tanh.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"

namespace weft::checkpoint {
namespace {

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

using Vectors = const at::Tensor&;

constexpr std::array kActivations{
    TorchActivation{"Identity", [](Vectors x) { return x; }, [](double x) { return x; }},
    TorchActivation{"Sigmoid", [](Vectors x) { return at::sigmoid(x); },
                    [](double x) { return 1 / (1 + std::exp(-x)); }},
    TorchActivation{"LogSigmoid", nullptr, [](double x) { return -softplus(-x); }},
    TorchActivation{"Tanh", [](Vectors x) { return at::tanh(x); }, [](double x) { return std::tanh(x); }},
    TorchActivation{"ReLU", [](Vectors x) { return at::relu(x); }, [](double x) { return std::max(x, 0.0); }},
    TorchActivation{"LeakyReLU", [](Vectors x) { return at::leaky_relu(x); },
                    [](double x) { return x > 0 ? x : 0.01 * x; }},
    TorchActivation{"ELU", [](Vectors x) { return at::elu(x); }, [](double x) { return x > 0 ? x : std::expm1(x); }},
    TorchActivation{"Softplus", [](Vectors x) { return at::softplus(x); }, softplus},
    TorchActivation{"Softsign", nullptr, [](double x) { return x / (1 + std::abs(x)); }},
    TorchActivation{"GELU", [](Vectors x) { return at::gelu(x); }},
    TorchActivation{"SiLU", [](Vectors x) { return at::silu(x); }},
    TorchActivation{"SELU", [](Vectors x) { return at::selu(x); }},
    TorchActivation{"Mish", [](Vectors x) { return at::mish(x); }},
    TorchActivation{"Hardtanh", [](Vectors x) { return at::hardtanh(x); }},
    TorchActivation{"ReLU6", [](Vectors x) { return at::relu6(x); }},
};

/// Of "torch.nn.modules.activation.Sigmoid", "Sigmoid"; nothing of a path that is not below torch.
std::string_view class_of_path(std::string_view path) noexcept {
  return path.starts_with("torch.") ? path.substr(path.rfind('.') + 1) : std::string_view();
}

template <typename Kept>
std::string names_of(const Kept& kept) {
  std::string names;
  for (const TorchActivation& activation : kActivations) {
    if (kept(activation)) {
      names += concat(names.empty() ? "" : ", ", activation.name);
    }
  }
  return names;
}

}  // namespace

const TorchActivation* find_torch_activation(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(kActivations, name, &TorchActivation::name);
  return found == kActivations.end() ? nullptr : found;
}

std::string import_path(const TorchActivation& activation) {
  const char* const package = activation.name == "Identity" ? "linear" : "activation";
  return concat("torch.nn.modules.", package, ".", activation.name);
}

const TorchActivation& dense_activation(std::string_view path, std::string_view where) {
  const TorchActivation* const found = find_torch_activation(class_of_path(path));
  if (found != nullptr && found->of_vectors != nullptr) {
    return *found;
  }
  throw Error(
      ErrorKind::kUnsupported,
      concat(where, ": activation_function must be torch.nn.modules.activation.NAME, NAME one of ",
             names_of([](const TorchActivation& one) { return one.of_vectors != nullptr; }), ", found ", quote(path)),
      path.starts_with("torch.")
          ? ""
          : "the function is other people's code, which Weft does not run; without it the library "
            "takes Tanh: write torch.nn.modules.activation.Tanh for that");
}

const TorchActivation& score_activation(std::string_view path, std::string_view where) {
  const auto hint = [] { return concat("raw scores (", option("raw_scores"), ") need no activation"); };
  const std::string_view name = path.starts_with("torch.nn.") ? class_of_path(path) : std::string_view();
  const TorchActivation* const found = find_torch_activation(name);
  if (found != nullptr && found->of_score != nullptr) {
    return *found;
  }
  if (name == "Softmax") {
    throw Error(ErrorKind::kArgument,
                concat(where, ": the activation ", quote(path), " gives the one label of each pair the score 1"),
                hint());
  }
  throw Error(ErrorKind::kArgument,
              concat(where, ": the activation is ", quote(path), "; expected a class of torch.nn, one of ",
                     names_of([](const TorchActivation& one) { return one.of_score != nullptr; })),
              hint());
}

}  // namespace weft::checkpoint
