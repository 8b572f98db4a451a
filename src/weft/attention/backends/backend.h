// SPDX-License-Identifier: Apache-2.0
// What computes: a backend for each device that has kernels, and one of LibTorch's operators for all devices. It is
// rows of functions, one for each kind of call, that say whether they take a call and compute it. Whoever has something
// to compute asks the backends in the order of their list (docs/recipes/add-a-backend.md).
#pragma once

#include <optional>
#include <span>

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

#include "weft/attention/backends/answer.h"
#include "weft/attention/backends/calls.h"
#include "weft/attention/call.h"
#include "weft/attention/mechanisms/relative/relative_call.h"

namespace weft::attention {

/// One way to compute a call of the operator; it knows nothing of autograd. takes() looks at every term that a call may
/// have: the distance table, row positions, the relative term.
struct Way {
  Path path;
  bool is_automatic;  ///< whether Path::kAuto may take it
  Answer (*takes)(const Call& call);
  Forward (*forward)(const Call& call);
  /// Null: the way is made of LibTorch's operators, which autograd follows by itself, and gives no log-sum-exp. The
  /// front door takes such a way, the operator of the dispatcher and permuted parts do not.
  Gradients (*backward)(const Call& call, const Forward& forward, const at::Tensor& output_gradient);
};

/// One way to compute one query a text, without dropout, that autograd does not follow (Path::kDecode).
struct DecodeWay {
  Answer (*takes)(const Call& call);
  /// Nothing where it met a number that is not finite, which the ways of the operator take care of.
  std::optional<Forward> (*forward)(const Call& call);
};

// Rows of which `takes` is null are kinds of calls that a backend has nothing for.

/// What a relative call gives, and what its backward pass is given of it: an output with more digits, perhaps.
struct RelativeForward {
  at::Tensor output;
  Forward kept;
};
struct RelativeRow {
  Answer (*takes)(const RelativeCall& call) = nullptr;
  RelativeForward (*forward)(const RelativeCall& call) = nullptr;
  RelativeGradients (*backward)(const RelativeCall& call, const Forward& kept,
                                const at::Tensor& output_gradient) = nullptr;
};

struct ConvolutionRow {
  Answer (*takes)(const ConvolutionCall& call) = nullptr;
  at::Tensor (*forward)(const ConvolutionCall& call) = nullptr;
  /// Null: autograd follows forward() by itself.
  ConvolutionGradients (*backward)(const ConvolutionCall& call, const at::Tensor& gradient, bool asks_values,
                                   bool asks_weights) = nullptr;
};

struct CausalRow {
  Answer (*takes)(const CausalCall& call) = nullptr;
  at::Tensor (*forward)(const CausalCall& call) = nullptr;
  CausalGradients (*backward)(const CausalCall& call, const at::Tensor& gradient) = nullptr;
};

/// Autograd follows forward() by itself.
struct DecayedRow {
  Answer (*takes)(const DecayedCall& call) = nullptr;
  at::Tensor (*forward)(const DecayedCall& call) = nullptr;
};

/// The gradient is the same call of the output's gradient.
struct DropoutRow {
  Answer (*takes)(const DropoutCall& call) = nullptr;
  at::Tensor (*forward)(const DropoutCall& call) = nullptr;
};

struct RotationRow {
  Answer (*takes)(const RotationCall& call) = nullptr;
  /// Writes `output`, of the shape and dtype of x with contiguous columns.
  void (*forward)(const RotationCall& call, const at::Tensor& output) = nullptr;
};

/// What code that is made of LibTorch's operators must know of a device.
struct DeviceTraits {
  bool (*serves)(c10::DeviceType device) = nullptr;
  /// Whether LibTorch multiplies `dtype` more slowly than float32 there, or not at all.
  bool (*is_slow_at)(c10::ScalarType dtype) = nullptr;
  bool packs_weights = false;   ///< it has oneDNN's operators for weights that are packed once
  bool works_in_parts = false;  ///< LibTorch's threads each take a few rows, which stay in their caches
};

struct Backend {
  const char* name;
  std::span<const Way> ways;  ///< the best first, as are the next
  std::span<const DecodeWay> decode;
  RelativeRow relative;
  ConvolutionRow convolution;
  CausalRow causal;
  DecayedRow decayed;
  DropoutRow dropout;
  RotationRow rotation;
  DeviceTraits traits;
};

}  // namespace weft::attention
