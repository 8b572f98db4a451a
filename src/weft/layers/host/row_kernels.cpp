// SPDX-License-Identifier: Apache-2.0
// Shares of threads, and the kernels behind them.
#include "weft/layers/host/row_kernels.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>

#include "weft/attention/backends/host_memory.h"
#include "weft/attention/thread_pool.h"
#include "weft/kernels/elements/gelu.h"
#include "weft/kernels/elements/sums.h"
#include "weft/kernels/loss/score_loss.h"

namespace weft::layers {
namespace {

// Numbers that a thread takes some 10 us for: waking it costs as much.
constexpr std::int64_t kGrain = 32768;
// A share's columns begin at a line of the cache, and are long enough to be read in order.
constexpr std::int64_t kColumnGrain = 256;

void run_gelu(kernels::DType dtype, const at::Tensor& x, const at::Tensor* gradient, const at::Tensor& output) {
  const kernels::InstructionSet isa = kernels::chosen_isa();
  const std::int64_t bytes = x.element_size();
  const auto* from = static_cast<const char*>(x.const_data_ptr());
  const auto* given = gradient == nullptr ? nullptr : static_cast<const char*>(gradient->const_data_ptr());
  auto* to = static_cast<char*>(output.mutable_data_ptr());
  parallel_for(attention::kTorchThreads, x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernels::apply_gelu(isa, {.dtype = dtype,
                              .x = from + begin * bytes,
                              .gradient = given == nullptr ? nullptr : given + begin * bytes,
                              .output = to + begin * bytes,
                              .count = end - begin});
  });
}

}  // namespace

std::optional<kernels::DType> kernel_dtype(const at::Tensor& x) {
  const at::ScalarType type = x.scalar_type();
  if ((type != at::kFloat && type != at::kBFloat16) || !attention::is_in_host_memory(x) || !x.is_contiguous()) {
    return std::nullopt;
  }
  const kernels::DType dtype = type == at::kFloat ? kernels::DType::kFloat32 : kernels::DType::kBFloat16;
  return kernels::sums_numbers(kernels::chosen_isa(), dtype) ? std::optional(dtype) : std::nullopt;
}

at::Tensor column_sums(const at::Tensor& x, at::ScalarType dtype) {
  const std::optional<kernels::DType> known = x.dim() == 2 && dtype == at::kFloat ? kernel_dtype(x) : std::nullopt;
  if (!known) {
    return x.sum(0, false, dtype);
  }
  const std::int64_t columns = x.size(1);
  at::Tensor sums = at::empty({columns}, x.options().dtype(at::kFloat));
  const kernels::InstructionSet isa = kernels::chosen_isa();
  const auto* from = static_cast<const char*>(x.const_data_ptr());
  auto* to = sums.mutable_data_ptr<float>();
  const std::int64_t pieces = (columns + kColumnGrain - 1) / kColumnGrain;
  const std::int64_t grain = kGrain / (kColumnGrain * std::max<std::int64_t>(x.size(0), 1)) + 1;
  parallel_for(attention::kTorchThreads, pieces, grain, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = begin * kColumnGrain;
    kernels::sum_columns(isa, {.dtype = *known,
                               .x = from + first * x.element_size(),
                               .sums = to + first,
                               .rows = x.size(0),
                               .columns = std::min(end * kColumnGrain, columns) - first,
                               .stride = columns});
  });
  return sums;
}

void add_part(at::Tensor& total, const at::Tensor& part, bool is_first) {
  const std::optional<kernels::DType> known = kernel_dtype(part);
  if (!known || total.scalar_type() != at::kFloat || !kernel_dtype(total)) {
    is_first ? total.copy_(part) : total.add_(part);
    return;
  }
  const kernels::InstructionSet isa = kernels::chosen_isa();
  const auto* from = static_cast<const char*>(part.const_data_ptr());
  auto* to = total.mutable_data_ptr<float>();
  parallel_for(attention::kTorchThreads, total.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernels::accumulate(isa, {.dtype = *known,
                              .part = from + begin * part.element_size(),
                              .total = to + begin,
                              .count = end - begin,
                              .is_first = is_first});
  });
}

at::Tensor gelu_tanh(const at::Tensor& x) {
  const std::optional<kernels::DType> known = kernel_dtype(x);
  if (!known) {
    return at::gelu(x, "tanh");
  }
  at::Tensor output = at::empty_like(x);
  run_gelu(*known, x, nullptr, output);
  return output;
}

at::Tensor gelu_tanh_backward(const at::Tensor& gradient, const at::Tensor& x) {
  const std::optional<kernels::DType> known = kernel_dtype(x);
  if (!known || kernel_dtype(gradient) != known) {
    return at::gelu_backward(gradient, x, "tanh");
  }
  at::Tensor output = at::empty_like(x);
  run_gelu(*known, x, &gradient, output);
  return output;
}

bool takes_row_losses(const at::Tensor& scores, const at::Tensor& bias) {
  return kernel_dtype(scores) && (!bias.defined() || (bias.scalar_type() == at::kFloat && kernel_dtype(bias)));
}

void row_losses(const at::Tensor& scores, const at::Tensor& bias, const at::Tensor& labels, const RowLoss& how,
                const at::Tensor& losses) {
  const at::Tensor in_order = labels.contiguous();
  const auto* ids = in_order.const_data_ptr<std::int64_t>();
  const kernels::InstructionSet isa = kernels::chosen_isa();
  const std::int64_t width = scores.size(1);
  const kernels::ScoreLoss whole{.dtype = *kernel_dtype(scores),
                                 .scores = scores.mutable_data_ptr(),
                                 .bias = bias.defined() ? bias.const_data_ptr<float>() : nullptr,
                                 .labels = ids,
                                 .losses = losses.mutable_data_ptr<float>(),
                                 .rows = scores.size(0),
                                 .ids = width,
                                 .stride = width,
                                 .smoothing = static_cast<float>(how.smoothing),
                                 .scale = static_cast<float>(how.scale),
                                 .gathers = how.gathers};
  parallel_for(attention::kTorchThreads, whole.rows, kGrain / width + 1, [&](std::int64_t begin, std::int64_t end) {
    kernels::ScoreLoss share = whole;
    share.scores = static_cast<char*>(whole.scores) + begin * width * scores.element_size();
    share.labels += begin;
    share.losses += begin;
    share.rows = end - begin;
    kernels::score_loss(isa, share);
  });
}

}  // namespace weft::layers
