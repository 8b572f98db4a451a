// SPDX-License-Identifier: Apache-2.0
// LibTorch has the layer norm. The root of the mean square is a function here, which keeps x and a number a row. At
// inference both are kernels, with the sum in front.
#include "weft/layers/norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/layer_norm.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "weft/attention/accumulation.h"
#include "weft/attention/backends/host_memory.h"
#include "weft/attention/thread_pool.h"
#include "weft/kernels/norm/row_norm.h"
#include "weft/layers/inference/packed_weight.h"
#include "weft/layers/precision.h"

namespace weft::layers {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// y = n w for n = x r, r = 1 / sqrt(mean(x^2) + epsilon). Backwards, with g = dy w: dw = sum dy n over the rows, and
// dx = r (g - n mean(g n)).
struct RmsFunction : torch::autograd::Function<RmsFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight, double epsilon) {
    const WithoutAutocast plain;
    const at::Tensor rows = attention::at_least_float(x);
    const at::Tensor scale = rows.square().mean(-1, true).add_(epsilon).rsqrt_();
    context->save_for_backward({x, weight, scale});
    return rows.mul(scale).to(x.scalar_type()).mul_(weight);  // rounded before the weight, as transformers does
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const WithoutAutocast plain;
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& weight = saved[1];
    const at::ScalarType type = attention::accumulation_type(x);
    const at::Tensor normal = x.to(type) * saved[2];
    const at::Tensor given = gradients[0].to(type);
    at::Tensor of_x;
    at::Tensor of_weight;
    if (context->needs_input_grad(0)) {
      const at::Tensor scaled = given * weight;
      of_x = (scaled - normal * (scaled * normal).mean(-1, true)).mul_(saved[2]).to(x.scalar_type());
    }
    if (context->needs_input_grad(1)) {
      of_weight = (given * normal).flatten(0, -2).sum(0).to(weight.scalar_type());
    }
    return {of_x, of_weight, at::Tensor()};
  }
};

}  // namespace

NormImpl::NormImpl(std::int64_t width, const NormConfig& config, const at::TensorOptions& options) : config_(config) {
  if (config.kind != NormKind::kNone) {
    weight = register_parameter("weight", at::empty({width}, options));
  }
  if (config.kind == NormKind::kLayer && config.bias) {
    bias = register_parameter("bias", at::empty({width}, options));
  }
}

at::Tensor NormImpl::normalised(const at::Tensor& x, const at::Tensor& its_weight, const at::Tensor& its_bias) const {
  if (config_.kind == NormKind::kNone) {
    return x;
  }
  // Under autocast x may be bfloat16: statistics and result are those of the weights' float32.
  const at::Tensor rows = x.to(weight.scalar_type());
  return config_.kind == NormKind::kRms ? RmsFunction::apply(rows, its_weight, config_.epsilon)
                                        : at::layer_norm(rows, weight.sizes(), its_weight, its_bias, config_.epsilon);
}

bool NormImpl::kernels_take(const at::Tensor& x) const {
  // As packed weights: few rows round as they do with gradients, and so does a pass that will run again with them.
  constexpr std::int64_t kFewestRows = 64;
  const bool is_free = !is_training() && !at::GradMode::is_enabled() && !WithoutPacking::is_on();
  if (!is_free || config_.kind == NormKind::kNone || !attention::is_in_host_memory(x)) {
    return false;
  }
  const at::ScalarType type = x.scalar_type();
  const bool has_type = (type == at::kFloat || type == at::kBFloat16) && weight.scalar_type() == type;
  const kernels::DType dtype = type == at::kFloat ? kernels::DType::kFloat32 : kernels::DType::kBFloat16;
  return has_type && x.is_contiguous() && x.size(-1) == weight.size(0) && x.numel() >= kFewestRows * weight.size(0) &&
         kernels::norms_rows(kernels::chosen_isa(), dtype, x.size(-1));
}

void NormImpl::run_kernel(const at::Tensor& x, const at::Tensor* added, const at::Tensor& output) const {
  const at::Tensor its_weight = weight.contiguous();
  const at::Tensor its_bias = bias.defined() ? bias.contiguous() : bias;
  const bool is_half = x.scalar_type() == at::kBFloat16;
  const kernels::RowNorm whole{.dtype = is_half ? kernels::DType::kBFloat16 : kernels::DType::kFloat32,
                               .is_root = config_.kind == NormKind::kRms,
                               .x = x.const_data_ptr(),
                               .added = added == nullptr ? nullptr : added->const_data_ptr(),
                               .weight = its_weight.const_data_ptr(),
                               .bias = its_bias.defined() ? its_bias.const_data_ptr() : nullptr,
                               .output = output.mutable_data_ptr(),
                               .rows = x.numel() / x.size(-1),
                               .width = x.size(-1),
                               .epsilon = static_cast<float>(config_.epsilon)};
  const kernels::InstructionSet isa = kernels::chosen_isa();
  const std::int64_t row_bytes = whole.width * x.element_size();
  constexpr std::int64_t kGrain = 32768;  // numbers that a thread takes some 10 us for: waking it costs as much
  parallel_for(
      attention::kTorchThreads, whole.rows, kGrain / whole.width + 1, [&](std::int64_t begin, std::int64_t end) {
        const auto behind = [&](const void* rows) { return static_cast<const char*>(rows) + begin * row_bytes; };
        kernels::RowNorm share = whole;
        share.x = behind(whole.x);
        share.added = whole.added == nullptr ? nullptr : behind(whole.added);
        share.output = static_cast<char*>(whole.output) + begin * row_bytes;
        share.rows = end - begin;
        kernels::norm_rows(isa, share);
      });
}

at::Tensor NormImpl::forward(const at::Tensor& x) {
  if (config_.kind == NormKind::kRms && kernels_take(x)) {  // LibTorch's operators go over memory six times
    at::Tensor output = at::empty_like(x);
    run_kernel(x, nullptr, output);
    return output;
  }
  return normalised(x, weight, bias);
}

at::Tensor NormImpl::of_sum(const at::Tensor& x, at::Tensor given) {
  const bool alike = given.scalar_type() == x.scalar_type() && given.sizes() == x.sizes() && x.is_contiguous();
  if (alike && kernels_take(given)) {
    run_kernel(x, &given, given);
    return given;
  }
  // In place where no gradient needs what was given, and where each number has a place of its own.
  const bool in_place = !at::GradMode::is_enabled() && given.scalar_type() == x.scalar_type() &&
                        given.sizes() == x.sizes() && given.is_non_overlapping_and_dense();
  return forward(in_place ? given.add_(x) : x + given);
}

at::Tensor NormImpl::with_fixed_parameters(const at::Tensor& x) const {
  const auto fixed = [](const at::Tensor& parameter) { return parameter.defined() ? parameter.detach() : parameter; };
  return normalised(x, fixed(weight), fixed(bias));
}

}  // namespace weft::layers
