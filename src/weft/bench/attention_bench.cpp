// SPDX-License-Identifier: Apache-2.0
// The call, and the seven things that are timed beside each other.
#include "weft/bench/attention_bench.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include "weft/attention/devices/device.h"
#include "weft/attention/devices/device_work.h"
#include "weft/bench/counted_memory.h"
#include "weft/core/error.h"
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

// Where each piece of work stands.
enum Place : std::uint8_t {
  kForward,
  kProduct,
  kDenseForward,
  kStoredForward,
  kForwardBackward,
  kDenseForwardBackward,
  kStoredForwardBackward,
  kPlaces
};
using Works = std::vector<AttentionBench::Work>;

// All but the product; what is not asked for is empty.
Works works_of(AttentionBench& bench, const TimedParts& parts, bool has_dense) {
  Works works(kPlaces);
  works[kForward] = bench.forward();
  if (has_dense) {
    works[kDenseForward] = bench.dense_forward();
  }
  if (parts.stored) {
    works[kStoredForward] = bench.stored_forward();
  }
  if (!parts.backward) {
    return works;
  }
  works[kForwardBackward] = bench.forward_backward();
  if (has_dense) {
    works[kDenseForwardBackward] = bench.dense_forward_backward();
  }
  if (parts.stored) {
    works[kStoredForwardBackward] = bench.stored_forward_backward();
  }
  return works;
}

AttentionBytes held_bytes(const Works& works) {
  const auto measured = [&](Place place) {
    return works[place] ? std::optional<std::int64_t>(most_bytes_of(works[place])) : std::nullopt;
  };
  return {.forward = measured(kForward),
          .dense_forward = measured(kDenseForward),
          .stored_forward = measured(kStoredForward),
          .forward_backward = measured(kForwardBackward),
          .dense_forward_backward = measured(kDenseForwardBackward),
          .stored_forward_backward = measured(kStoredForwardBackward)};
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

AttentionBench::Work AttentionBench::stored_forward() const {
  return without_gradient([this] { stored(); });
}

AttentionBench::Work AttentionBench::stored_forward_backward() const {
  return [this] { backward(stored()); };
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

at::Tensor AttentionBench::stored() const {
  const at::ScalarType dtype = tensors_[0].scalar_type();
  const double scale = 1 / std::sqrt(static_cast<double>(tensors_[0].size(-1)));
  const at::Tensor query = layers::operand(tensors_[0] * scale, dtype);
  const at::Tensor scores = at::matmul(query, layers::operand(tensors_[1], dtype).transpose(-2, -1));
  return at::matmul(at::softmax(scores, -1), layers::operand(tensors_[2], dtype)).to(dtype);
}

void AttentionBench::backward(const at::Tensor& output) const {
  torch::autograd::grad({output}, tensors_, {direction_});
}

void check_stored_scores(const AttentionCase& call, const TimedParts& parts) {
  std::int64_t scores = 1;
  bool is_beyond = false;
  for (const std::int64_t size : {call.batch, call.heads, call.length, call.length}) {
    is_beyond = __builtin_mul_overflow(scores, size, &scores) || is_beyond;
  }
  const std::string found = is_beyond ? concat("more than ", std::numeric_limits<std::int64_t>::max()) : concat(scores);
  require(!parts.stored || (!is_beyond && scores <= kMostStoredScores),
          "bench attention: attention that stores its scores would have ", found, " of them; expected at most ",
          kMostStoredScores, ", so give a shorter length or fewer heads");
}

AttentionTimes time_attention(const AttentionCase& call, const TimedParts& parts, const TimingLimits& limits) {
  check_stored_scores(call, parts);
  AttentionBench bench(call, parts.backward);
  const c10::Device device = attention::opening_device();
  const at::Tensor left = at::randn({4096, 768}, at::kFloat).to(device, call.dtype);
  const at::Tensor right = at::randn({768, 3072}, at::kFloat).to(device, call.dtype);
  Works works = works_of(bench, parts, parts.dense && call.length <= kLongestDense);
  works[kProduct] = without_gradient([&] { layers::product(left, right, call.dtype); });
  kernels::reset_workspace_peak();
  attention::reset_device_peak(device);
  const std::int64_t before = attention::device_bytes(device);
  const std::vector<double> medians = median_milliseconds(works, limits);
  AttentionTimes times;
  times.workspace_bytes =
      attention::has_own_memory(device) ? attention::device_peak(device) - before : kernels::workspace_peak();
  const auto measured = [&](Place place) {
    return works[place] ? std::optional<double>(medians[place]) : std::nullopt;
  };
  times.forward_ms = measured(kForward);
  times.dense_forward_ms = measured(kDenseForward);
  times.stored_forward_ms = measured(kStoredForward);
  times.forward_backward_ms = measured(kForwardBackward);
  times.dense_forward_backward_ms = measured(kDenseForwardBackward);
  times.stored_forward_backward_ms = measured(kStoredForwardBackward);
  times.bytes = held_bytes(works);
  times.gemm_gflops = 2.0 * 4096 * 768 * 3072 / medians[kProduct] / 1e6;
  times.path = bench.path();
  times.yardstick_dtype = layers::is_emulated(device.type(), call.dtype) ? at::kFloat : call.dtype;
  return times;
}

}  // namespace weft::bench
