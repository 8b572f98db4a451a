// SPDX-License-Identifier: Apache-2.0
// `weft::attention` and `weft::attention_backward` as LibTorch's dispatcher knows them: registration.cpp declares them
// and their CPU, Meta and Autocast kernels, autograd.cpp the Autograd one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "weft/attention/attention.h"
#include "weft/attention/call.h"

namespace weft::attention {

using Results = std::tuple<at::Tensor, at::Tensor>;
using GradientResults = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using OptionalTensor = std::optional<at::Tensor>;

/// query, key, value, key_keep, layout, sizes, scale, dropout, seed, path, slopes -> output, log_sum_exp
using ForwardSignature = Results(const at::Tensor&, const at::Tensor&, const at::Tensor&, const OptionalTensor&,
                                 at::TensorList, at::IntArrayRef, double, double, std::int64_t, std::string_view,
                                 const OptionalTensor&);
/// output_gradient, query, key, value, output, log_sum_exp and the rest -> gradients of query, key, value
using BackwardSignature = GradientResults(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                          const at::Tensor&, const at::Tensor&, const OptionalTensor&, at::TensorList,
                                          at::IntArrayRef, double, double, std::int64_t, std::string_view,
                                          const OptionalTensor&);

const c10::TypedOperatorHandle<ForwardSignature>& forward_operator();
const c10::TypedOperatorHandle<BackwardSignature>& backward_operator();

/// Calls weft::attention through the dispatcher, so that autograd, autocast and tracing see it.
Forward call_operator(const Call& call, Path path);

}  // namespace weft::attention
