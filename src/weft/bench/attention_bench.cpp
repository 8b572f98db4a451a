// SPDX-License-Identifier: Apache-2.0
// The call, and the five things that are timed beside each other.
#include "weft/bench/attention_bench.h"

#include <utility>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include "weft/attention/devices/device.h"
#include "weft/attention/devices/device_work.h"
#include "weft/kernels/workspace.h"
#include "weft/layers/precision.h"

namespace weft::bench {
namespace {

AttentionBench::Work without_gradient(AttentionBench::Work work) {
  return [work = std::move(work)] {
    const at::NoGradGuard no_gradient;
    work();
  };
}

}  // namespace

AttentionBench::AttentionBench(const AttentionCase& call, bool with_gradients)
    : layout_(attention::cached_layout(call.pattern, call.site(call.length), {})),
      options_(call.options()),
      direction_(call.random(call.length, 3)) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    tensors_.push_back(call.random(call.length, seed).set_requires_grad(with_gradients));
  }
}

AttentionBench::Work AttentionBench::forward() {
  return without_gradient([this] { sparse(); });
}

AttentionBench::Work AttentionBench::forward_backward() {
  return [this] { backward(sparse()); };
}

AttentionBench::Work AttentionBench::dense_forward() const {
  return without_gradient([this] { dense(); });
}

AttentionBench::Work AttentionBench::dense_forward_backward() const {
  return [this] { backward(dense()); };
}

at::Tensor AttentionBench::sparse() {
  const auto result = attention::attention(tensors_[0], tensors_[1], tensors_[2], layout_, options_);
  path_ = result.path;
  return result.output;
}

at::Tensor AttentionBench::dense() const {
  const at::ScalarType dtype = tensors_[0].scalar_type();
  const auto operand = [&](const at::Tensor& tensor) { return layers::operand(tensor, dtype); };
  return at::scaled_dot_product_attention(operand(tensors_[0]), operand(tensors_[1]), operand(tensors_[2])).to(dtype);
}

void AttentionBench::backward(const at::Tensor& output) const {
  torch::autograd::grad({output}, tensors_, {direction_});
}

AttentionTimes time_attention(const AttentionCase& call, const TimedParts& parts, const TimingLimits& limits) {
  AttentionBench bench(call, parts.backward);
  const bool has_dense = parts.dense && call.length <= kLongestDense;
  const c10::Device device = attention::opening_device();
  const at::Tensor left = at::randn({4096, 768}, at::kFloat).to(device, call.dtype);
  const at::Tensor right = at::randn({768, 3072}, at::kFloat).to(device, call.dtype);
  std::vector<AttentionBench::Work> works(5);
  works[0] = bench.forward();
  works[1] = without_gradient([&] { layers::product(left, right, call.dtype); });
  if (has_dense) {
    works[2] = bench.dense_forward();
  }
  if (parts.backward) {
    works[3] = bench.forward_backward();
    if (has_dense) {
      works[4] = bench.dense_forward_backward();
    }
  }
  kernels::reset_workspace_peak();
  attention::reset_device_peak(device);
  const std::int64_t before = attention::device_bytes(device);
  const std::vector<double> medians = median_milliseconds(works, limits);
  AttentionTimes times;
  times.workspace_bytes =
      attention::has_own_memory(device) ? attention::device_peak(device) - before : kernels::workspace_peak();
  times.forward_ms = medians[0];
  times.gemm_gflops = 2.0 * 4096 * 768 * 3072 / medians[1] / 1e6;
  const auto measured = [&](std::size_t at) { return works[at] ? std::optional<double>(medians[at]) : std::nullopt; };
  times.dense_forward_ms = measured(2);
  times.forward_backward_ms = measured(3);
  times.dense_forward_backward_ms = measured(4);
  times.path = bench.path();
  times.yardstick_dtype = layers::is_emulated(device.type(), call.dtype) ? at::kFloat : call.dtype;
  return times;
}

}  // namespace weft::bench
