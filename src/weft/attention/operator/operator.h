// SPDX-License-Identifier: Apache-2.0
// `weft::attention` and `weft::attention_backward`, which LibTorch's dispatcher knows too. A call from C++ goes to its
// path and to autograd as it is; one that somebody traces, and one from elsewhere, has the arguments of the schema.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "weft/attention/call.h"

namespace weft::attention {

using Results = std::tuple<at::Tensor, at::Tensor>;
using GradientResults = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
using OptionalTensor = std::optional<at::Tensor>;

/// query, key, value, key_keep, layout, sizes, scale, dropout, seed, path, distances, distance_zero,
/// query_positions, key_positions, first_positions, causal, not_self, draws -> output, log_sum_exp
using ForwardSignature = Results(const at::Tensor&, const at::Tensor&, const at::Tensor&, const OptionalTensor&,
                                 at::TensorList, at::IntArrayRef, double, double, std::int64_t, std::string_view,
                                 const OptionalTensor&, std::int64_t, const OptionalTensor&, const OptionalTensor&,
                                 const OptionalTensor&, bool, bool, std::int64_t);
/// output_gradient, query, key, value, output, log_sum_exp, the rest, and whether the gradient of `distances` is asked
/// -> gradients of query, key, value, distances
using BackwardSignature = GradientResults(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                          const at::Tensor&, const at::Tensor&, const OptionalTensor&, at::TensorList,
                                          at::IntArrayRef, double, double, std::int64_t, std::string_view,
                                          const OptionalTensor&, std::int64_t, const OptionalTensor&,
                                          const OptionalTensor&, const OptionalTensor&, bool, bool, std::int64_t, bool);

const c10::TypedOperatorHandle<ForwardSignature>& forward_operator();
const c10::TypedOperatorHandle<BackwardSignature>& backward_operator();

/// The arguments of the schema by their names.
struct Arguments {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  OptionalTensor key_keep;
  std::vector<at::Tensor> layout;   ///< with `sizes`, see layout_tensors.h
  std::vector<std::int64_t> sizes;  ///< of the layout
  double scale = 1.0;
  double dropout = 0.0;
  std::int64_t seed = 0;
  std::string path = "auto";
  OptionalTensor distances;  ///< as Call has it
  std::int64_t distance_zero = 0;
  OptionalTensor query_positions;  ///< these and what follows as RowPositions has them
  OptionalTensor key_positions;
  OptionalTensor first_positions;
  bool causal = false;
  bool not_self = false;
  std::int64_t draws = static_cast<std::int64_t>(kNewestDraws);  ///< of dropout: DropoutDraws
  bool asks_distances = false;                                   ///< of a backward pass
};

/// What dropout is drawn from. Errors: kArgument for draws that are none.
DropoutSeed seed_of(const Arguments& arguments);

/// The checked call. Errors: kArgument that names what does not fit.
Call call_of(const Arguments& arguments);
Arguments arguments_of(const Call& call);

/// The operators through the dispatcher.
Forward dispatch_forward(const Arguments& arguments);
Gradients dispatch_backward(const Arguments& arguments, const Forward& forward, const at::Tensor& output_gradient);

/// Whether the dispatcher would hand the tensor to a kernel that computes: no tracer, transform, tensor without memory
/// or mode of Python's stands between.
bool is_plain(const at::Tensor& tensor);

}  // namespace weft::attention
