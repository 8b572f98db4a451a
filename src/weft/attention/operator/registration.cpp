// SPDX-License-Identifier: Apache-2.0
// Schemas, and what the dispatcher calls: the kernel that computes, the one that only knows shapes (Meta, fake
// tensors), autograd and autocast. The layout is tensors and numbers, so that tracers see nothing but what they know.
#include <ATen/autocast_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <algorithm>

#include "weft/attention/distance_table.h"
#include "weft/attention/operator/autograd.h"
#include "weft/attention/operator/checks.h"
#include "weft/attention/operator/paths.h"
#include "weft/attention/tensors.h"

namespace weft::attention {
namespace {

constexpr const char* kForwardSchema =
    "attention(Tensor query, Tensor key, Tensor value, Tensor? key_keep, Tensor[] layout, int[] sizes, float scale, "
    "float dropout=0.0, int seed=0, str path='auto', Tensor? distances=None, int distance_zero=0, "
    "Tensor? query_positions=None, Tensor? key_positions=None, Tensor? first_positions=None, bool causal=False, bool "
    "not_self=False, int draws=2) -> (Tensor output, Tensor log_sum_exp)";
constexpr const char* kBackwardSchema =
    "attention_backward(Tensor output_gradient, Tensor query, Tensor key, Tensor value, Tensor output, "
    "Tensor log_sum_exp, Tensor? key_keep, Tensor[] layout, int[] sizes, float scale, float dropout=0.0, int seed=0, "
    "str path='auto', Tensor? distances=None, int distance_zero=0, Tensor? query_positions=None, Tensor? "
    "key_positions=None, Tensor? first_positions=None, bool causal=False, bool not_self=False, int "
    "draws=2, bool asks_distances=False) -> (Tensor query_gradient, Tensor key_gradient, Tensor value_gradient, Tensor "
    "distance_gradient)";

Forward compute(const Arguments& arguments) { return run_forward(call_of(arguments)); }

Gradients compute_backward(const Arguments& arguments, const Forward& forward, const at::Tensor& output_gradient) {
  const Call call = call_of(arguments);
  check_results(call.query, call.value, forward, output_gradient);
  return run_backward(call, forward, output_gradient);
}

// As empty_heads(), of sizes that a tracer may not have settled.
at::Tensor empty_shapes(const at::Tensor& like, const c10::SymInt& heads, const c10::SymInt& columns) {
  return at::empty_symint({like.sym_size(0), like.sym_size(2), heads, columns}, like.options()).transpose(1, 2);
}

// A layout's tensors may be fake here, so that the layout is not looked at.
void check_without_layout(const Arguments& arguments) {
  check_tensors(arguments.query, arguments.key, arguments.value, arguments.key_keep.value_or(at::Tensor()));
  check_numbers(arguments.scale, arguments.dropout);
  seed_of(arguments);
}

Forward shapes(const Arguments& arguments) {
  check_without_layout(arguments);
  const at::Tensor& query = arguments.query;
  return {empty_shapes(query, query.sym_size(1), arguments.value.sym_size(3)),
          at::empty_symint(query.sym_sizes().slice(0, 3), query.options().dtype(accumulation_type(query)))};
}

Gradients backward_shapes(const Arguments& arguments, const Forward& forward, const at::Tensor& output_gradient) {
  check_without_layout(arguments);
  check_results(arguments.query, arguments.value, forward, output_gradient);
  const auto like = [](const at::Tensor& tensor) {
    return empty_shapes(tensor, tensor.sym_size(1), tensor.sym_size(3));
  };
  const bool asks = arguments.asks_distances && arguments.distances.has_value();
  return {like(arguments.query), like(arguments.key), like(arguments.value),
          asks ? at::empty_like(*arguments.distances) : at::Tensor()};
}

bool is_plain_call(const Arguments& arguments) {
  const auto is_plain_or_absent = [](const OptionalTensor& tensor) { return !tensor || is_plain(*tensor); };
  return is_plain(arguments.query) && is_plain(arguments.key) && is_plain(arguments.value) &&
         is_plain_or_absent(arguments.key_keep) && is_plain_or_absent(arguments.distances) &&
         is_plain_or_absent(arguments.query_positions) && is_plain_or_absent(arguments.key_positions) &&
         is_plain_or_absent(arguments.first_positions) &&
         std::all_of(arguments.layout.begin(), arguments.layout.end(), is_plain);
}

Forward compute_differentiable(const Arguments& arguments) {
  return is_plain_call(arguments) ? differentiable(call_of(arguments)) : differentiable(arguments);
}

// Inputs in the dtype of autocast, as scaled_dot_product_attention has it.
template <c10::DispatchKey kKey, at::DeviceType kDevice>
Forward cast_and_compute(const Arguments& arguments) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(kKey);
  Arguments cast = arguments;
  for (at::Tensor* tensor : {&cast.query, &cast.key, &cast.value}) {
    if (at::isFloatingType(tensor->scalar_type()) && tensor->scalar_type() != at::kDouble) {
      *tensor = tensor->to(at::autocast::get_autocast_dtype(kDevice));
    }
  }
  return dispatch_forward(cast);
}

// NOLINTBEGIN(readability-function-size): these two have the parameters of their schemas
template <Forward (*kWork)(const Arguments&)>
Results with_arguments(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                       const OptionalTensor& key_keep, at::TensorList layout, at::IntArrayRef sizes, double scale,
                       double dropout, std::int64_t seed, std::string_view path, const OptionalTensor& distances,
                       std::int64_t distance_zero, const OptionalTensor& query_positions,
                       const OptionalTensor& key_positions, const OptionalTensor& first_positions, bool causal,
                       bool not_self, std::int64_t draws) {
  const Forward result =
      kWork({query, key, value, key_keep, layout.vec(), sizes.vec(), scale, dropout, seed, std::string(path), distances,
             distance_zero, query_positions, key_positions, first_positions, causal, not_self, draws});
  return {result.output, result.log_sum_exp};
}

template <Gradients (*kWork)(const Arguments&, const Forward&, const at::Tensor&)>
GradientResults with_backward_arguments(const at::Tensor& output_gradient, const at::Tensor& query,
                                        const at::Tensor& key, const at::Tensor& value, const at::Tensor& output,
                                        const at::Tensor& log_sum_exp, const OptionalTensor& key_keep,
                                        at::TensorList layout, at::IntArrayRef sizes, double scale, double dropout,
                                        std::int64_t seed, std::string_view path, const OptionalTensor& distances,
                                        std::int64_t distance_zero, const OptionalTensor& query_positions,
                                        const OptionalTensor& key_positions, const OptionalTensor& first_positions,
                                        bool causal, bool not_self, std::int64_t draws, bool asks_distances) {
  const Gradients result =
      kWork({query, key, value, key_keep, layout.vec(), sizes.vec(), scale, dropout, seed, std::string(path), distances,
             distance_zero, query_positions, key_positions, first_positions, causal, not_self, draws, asks_distances},
            {output, log_sum_exp}, output_gradient);
  return {result.query, result.key, result.value, result.distances};
}
// NOLINTEND(readability-function-size)

TORCH_LIBRARY(weft, library) {
  library.def(kForwardSchema);
  library.def(kBackwardSchema);
}

TORCH_LIBRARY_IMPL(weft, CompositeExplicitAutograd, library) {
  library.impl("attention", with_arguments<compute>);
  library.impl("attention_backward", with_backward_arguments<compute_backward>);
}

TORCH_LIBRARY_IMPL(weft, Autograd, library) { library.impl("attention", with_arguments<compute_differentiable>); }

TORCH_LIBRARY_IMPL(weft, Meta, library) {
  library.impl("attention", with_arguments<shapes>);
  library.impl("attention_backward", with_backward_arguments<backward_shapes>);
}

TORCH_LIBRARY_IMPL(weft, AutocastCPU, library) {
  library.impl("attention", with_arguments<cast_and_compute<c10::DispatchKey::AutocastCPU, at::kCPU>>);
}

TORCH_LIBRARY_IMPL(weft, AutocastCUDA, library) {
  library.impl("attention", with_arguments<cast_and_compute<c10::DispatchKey::AutocastCUDA, at::kCUDA>>);
}

}  // namespace
}  // namespace weft::attention
