// SPDX-License-Identifier: Apache-2.0
// Schemas, and the kernels below autograd: the one that computes, the one that only knows shapes (Meta, fake tensors),
// and autocast. The layout is tensors and numbers, so that tracers see nothing but what they know.
#include <ATen/autocast_mode.h>
#include <ATen/ops/empty.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include "weft/attention/operator/checks.h"
#include "weft/attention/operator/layout_tensors.h"
#include "weft/attention/operator/operator.h"
#include "weft/attention/operator/paths.h"
#include "weft/attention/position_bias.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

constexpr const char* kForwardSchema =
    "attention(Tensor query, Tensor key, Tensor value, Tensor? key_keep, Tensor[] layout, int[] sizes, float scale, "
    "float dropout=0.0, int seed=0, str path='auto', Tensor? slopes=None) -> (Tensor output, Tensor log_sum_exp)";
constexpr const char* kBackwardSchema =
    "attention_backward(Tensor output_gradient, Tensor query, Tensor key, Tensor value, Tensor output, "
    "Tensor log_sum_exp, Tensor? key_keep, Tensor[] layout, int[] sizes, float scale, float dropout=0.0, int seed=0, "
    "str path='auto', Tensor? slopes=None) -> (Tensor query_gradient, Tensor key_gradient, Tensor value_gradient)";

Path settled_path(const Call& call, std::string_view name) {
  const Path asked = path_of(name);
  const Path path = asked == Path::kAuto ? choose_path(call) : asked;
  check_path(call, path);
  if (path != Path::kDense || call.query.is_cpu()) {
    return path;
  }
  require(asked == Path::kAuto, "attention: the dense path of the operator serves the CPU only, found ",
          call.query.device());
  return Path::kPortable;
}

Call with_rest(Call call, const OptionalTensor& key_keep, double dropout, std::int64_t seed,
               const OptionalTensor& slopes) {
  call.key_keep = key_keep.value_or(at::Tensor());
  check_tensors(call.query, call.key, call.value, call.key_keep);
  check_numbers(call.scale, dropout);
  call.slopes = checked_slopes(slopes.value_or(at::Tensor()), call.query);
  call.dropout = {static_cast<float>(dropout), static_cast<std::uint64_t>(seed), 0};
  call.layout->check(call.query.size(0), call.query.size(1), call.query.size(2), call.key.size(2));
  return call;
}

// NOLINTBEGIN(readability-function-size): a kernel has the parameters of its schema
Results compute_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                          const OptionalTensor& key_keep, at::TensorList layout, at::IntArrayRef sizes, double scale,
                          double dropout, std::int64_t seed, std::string_view path, const OptionalTensor& slopes) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const Call call =
      with_rest({query, key, value, {}, from_tensors(layout, sizes), scale, {}, {}}, key_keep, dropout, seed, slopes);
  const Forward forward = run_forward(call, settled_path(call, path));
  return {in_memory_order(forward.output), with_new_strides(forward.log_sum_exp)};
}

GradientResults compute_attention_backward(const at::Tensor& output_gradient, const at::Tensor& query,
                                           const at::Tensor& key, const at::Tensor& value, const at::Tensor& output,
                                           const at::Tensor& log_sum_exp, const OptionalTensor& key_keep,
                                           at::TensorList layout, at::IntArrayRef sizes, double scale, double dropout,
                                           std::int64_t seed, std::string_view path, const OptionalTensor& slopes) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const Call call =
      with_rest({query, key, value, {}, from_tensors(layout, sizes), scale, {}, {}}, key_keep, dropout, seed, slopes);
  const Forward forward{output, log_sum_exp};
  check_results(query, value, forward, output_gradient);
  const Gradients gradients = run_backward(call, settled_path(call, path), forward, output_gradient);
  return {in_memory_order(gradients.query), in_memory_order(gradients.key), in_memory_order(gradients.value)};
}

// As empty_heads(), of sizes that a tracer may not have settled.
at::Tensor empty_shapes(const at::Tensor& like, const c10::SymInt& heads, const c10::SymInt& columns) {
  return at::empty_symint({like.sym_size(0), like.sym_size(2), heads, columns}, like.options()).transpose(1, 2);
}

Results attention_shapes(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                         const OptionalTensor& key_keep, at::TensorList, at::IntArrayRef, double scale, double dropout,
                         std::int64_t, std::string_view, const OptionalTensor&) {
  check_tensors(query, key, value, key_keep.value_or(at::Tensor()));
  check_numbers(scale, dropout);
  return {empty_shapes(query, query.sym_size(1), value.sym_size(3)),
          at::empty_symint(query.sym_sizes().slice(0, 3), query.options().dtype(accumulation_type(query)))};
}

GradientResults attention_backward_shapes(const at::Tensor& output_gradient, const at::Tensor& query,
                                          const at::Tensor& key, const at::Tensor& value, const at::Tensor& output,
                                          const at::Tensor& log_sum_exp, const OptionalTensor& key_keep, at::TensorList,
                                          at::IntArrayRef, double scale, double dropout, std::int64_t, std::string_view,
                                          const OptionalTensor&) {
  check_tensors(query, key, value, key_keep.value_or(at::Tensor()));
  check_numbers(scale, dropout);
  check_results(query, value, {output, log_sum_exp}, output_gradient);
  const auto like = [](const at::Tensor& tensor) {
    return empty_shapes(tensor, tensor.sym_size(1), tensor.sym_size(3));
  };
  return {like(query), like(key), like(value)};
}

// Inputs in the dtype of autocast, as scaled_dot_product_attention has it.
template <c10::DispatchKey kKey, at::DeviceType kDevice>
Results autocast_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                           const OptionalTensor& key_keep, at::TensorList layout, at::IntArrayRef sizes, double scale,
                           double dropout, std::int64_t seed, std::string_view path, const OptionalTensor& slopes) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(kKey);
  const auto cast = [](const at::Tensor& tensor) {
    const bool casts = at::isFloatingType(tensor.scalar_type()) && tensor.scalar_type() != at::kDouble;
    return casts ? tensor.to(at::autocast::get_autocast_dtype(kDevice)) : tensor;
  };
  return forward_operator().call(cast(query), cast(key), cast(value), key_keep, layout, sizes, scale, dropout, seed,
                                 path, slopes);
}
// NOLINTEND(readability-function-size)

TORCH_LIBRARY(weft, library) {
  library.def(kForwardSchema);
  library.def(kBackwardSchema);
}

TORCH_LIBRARY_IMPL(weft, CompositeExplicitAutograd, library) {
  library.impl("attention", compute_attention);
  library.impl("attention_backward", compute_attention_backward);
}

TORCH_LIBRARY_IMPL(weft, Meta, library) {
  library.impl("attention", attention_shapes);
  library.impl("attention_backward", attention_backward_shapes);
}

TORCH_LIBRARY_IMPL(weft, AutocastCPU, library) {
  library.impl("attention", autocast_attention<c10::DispatchKey::AutocastCPU, at::kCPU>);
}

TORCH_LIBRARY_IMPL(weft, AutocastCUDA, library) {
  library.impl("attention", autocast_attention<c10::DispatchKey::AutocastCUDA, at::kCUDA>);
}

}  // namespace

const c10::TypedOperatorHandle<ForwardSignature>& forward_operator() {
  static const auto handle =
      c10::Dispatcher::singleton().findSchemaOrThrow("weft::attention", "").typed<ForwardSignature>();
  return handle;
}

const c10::TypedOperatorHandle<BackwardSignature>& backward_operator() {
  static const auto handle =
      c10::Dispatcher::singleton().findSchemaOrThrow("weft::attention_backward", "").typed<BackwardSignature>();
  return handle;
}

Forward call_operator(const Call& call, Path path) {
  const LayoutTensors layout = to_tensors(call.layout);
  const auto optional = [](const at::Tensor& tensor) {
    return tensor.defined() ? OptionalTensor(tensor) : std::nullopt;
  };
  auto [output, log_sum_exp] =
      forward_operator().call(call.query, call.key, call.value, optional(call.key_keep), layout.tensors, layout.sizes,
                              call.scale, static_cast<double>(call.dropout.probability),
                              static_cast<std::int64_t>(call.dropout.seed), to_string(path), optional(call.slopes));
  return {output, log_sum_exp};
}

}  // namespace weft::attention
