// SPDX-License-Identifier: Apache-2.0
// One call kept ready with its tensors and layout, and the five things that are timed on it.
#include "weft/cli/bench/attention_bench.h"

#include <functional>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include "weft/cli/bench/timing.h"
#include "weft/kernels/workspace.h"

namespace weft::cli {
namespace {

class AttentionBench {
 public:
  AttentionBench(const AttentionCase& call, bool with_backward)
      : call_(call),
        layout_(attention::cached_layout(call.pattern, call.site(call.length), {})),
        options_(call.options()),
        direction_(call.random(call.length, 3)),
        left_(at::randn({4096, 768}, at::kFloat).to(call.dtype)),
        right_(at::randn({768, 3072}, at::kFloat).to(call.dtype)) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      tensors_.push_back(call.random(call.length, seed).set_requires_grad(with_backward));
    }
  }

  at::Tensor sparse() {
    const auto result = attention::attention(tensors_[0], tensors_[1], tensors_[2], layout_, options_);
    path_ = result.path;
    return result.output;
  }
  at::Tensor dense() const { return at::scaled_dot_product_attention(tensors_[0], tensors_[1], tensors_[2]); }
  void backward(const at::Tensor& output) const { torch::autograd::grad({output}, tensors_, {direction_}); }
  void multiply() const { at::mm(left_, right_); }
  attention::Path path() const { return path_; }

 private:
  const AttentionCase& call_;
  attention::LayoutPtr layout_;
  attention::AttentionOptions options_;
  at::Tensor direction_;
  at::Tensor left_;
  at::Tensor right_;
  std::vector<at::Tensor> tensors_;
  attention::Path path_ = attention::Path::kAuto;
};

std::function<void()> without_gradient(std::function<void()> work) {
  return [work = std::move(work)] {
    const at::NoGradGuard no_gradient;
    work();
  };
}

// Where a round takes seconds, three of them say enough.
constexpr TimingLimits kLongLimits{.least_rounds = 3};

}  // namespace

AttentionTimes time_attention(const AttentionCase& call, bool with_backward) {
  AttentionBench bench(call, with_backward);
  const bool has_dense = call.length <= kLongestDense;
  std::vector<std::function<void()>> works(5);
  works[0] = without_gradient([&] { bench.sparse(); });
  works[1] = without_gradient([&] { bench.multiply(); });
  if (has_dense) {
    works[2] = without_gradient([&] { bench.dense(); });
  }
  if (with_backward) {
    works[3] = [&] { bench.backward(bench.sparse()); };
    if (has_dense) {
      works[4] = [&] { bench.backward(bench.dense()); };
    }
  }
  kernels::reset_workspace_peak();
  const std::vector<double> medians = median_milliseconds(works, has_dense ? TimingLimits{} : kLongLimits);
  AttentionTimes times;
  times.workspace_bytes = kernels::workspace_peak();
  times.forward_ms = medians[0];
  times.gemm_gflops = 2.0 * 4096 * 768 * 3072 / medians[1] / 1e6;
  const auto measured = [&](std::size_t at) { return works[at] ? std::optional<double>(medians[at]) : std::nullopt; };
  times.dense_forward_ms = measured(2);
  times.forward_backward_ms = measured(3);
  times.dense_forward_backward_ms = measured(4);
  times.path = bench.path();
  return times;
}

}  // namespace weft::cli
