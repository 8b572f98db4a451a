// SPDX-License-Identifier: Apache-2.0
// The activations of the feed-forward layer by their names in a config.
#pragma once

#include <string_view>

#include <ATen/core/Tensor.h>

namespace weft::layers {

/// Elementwise functions between the two products of the feed-forward layer.
enum class Activation {
  kGelu,       ///< "gelu", exact (Hendrycks and Gimpel 2016)
  kGeluNew,    ///< "gelu_new", its tanh approximation (GPT-2), written by others as "gelu_fast" or "gelu_pytorch_tanh"
  kQuickGelu,  ///< "quick_gelu": x sigmoid(1.702 x), its approximation in Sparse Transformers (Child et al. 2019)
  kRelu,       ///< "relu"
  kSilu,       ///< "silu" or "swish"
  kSwiglu,     ///< "swiglu": silu of the first half times the second half (Shazeer 2020); the others likewise
  kGeglu,      ///< "geglu": gelu of the first half
  kGegluNew,   ///< "geglu_new": gelu_new of the first half
  kReglu,      ///< "reglu": relu of the first half
};

/// Errors: kArgument naming the activations there are.
Activation parse_activation(std::string_view name);

/// Whether the activation takes twice the width that it gives.
bool is_gated(Activation activation) noexcept;

/// The function of the first half of a gated activation; an activation without a gate itself.
Activation inside_gate(Activation activation) noexcept;

/// x [..., width], or [..., 2 width] for a gated activation, -> [..., width].
at::Tensor activate(const at::Tensor& x, Activation activation);

}  // namespace weft::layers
