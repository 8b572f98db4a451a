// SPDX-License-Identifier: Apache-2.0
// Buckets leave in one order in every process, or sums would be taken of different things.
#include "weft/training/processes/gradient_sum.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <ranges>
#include <utility>

#include "weft/core/error.h"

namespace weft::training {
namespace {

constexpr std::int64_t kBucketBytes = 25 << 20;  // as in PyTorch's DistributedDataParallel

class AccumulatedHook final : public torch::autograd::PostAccumulateGradHook {
 public:
  explicit AccumulatedHook(std::function<void()> call) : call_(std::move(call)) {}
  void operator()(const torch::autograd::Variable&) override { call_(); }

 private:
  std::function<void()> call_;
};

}  // namespace

class GradientSum::State {
 public:
  struct Bucket {
    std::vector<at::Tensor> parameters;
    std::int64_t numbers = 0;
    std::size_t ready = 0;
    at::Tensor flat;  // gradients one after another, then for each parameter 1 where it has a gradient
    std::function<void()> wait;
  };

  State(const std::vector<at::Tensor>& parameters, ProcessGroup& group)
      : group_(group), buckets_(make_buckets(parameters)) {}

  void arm() {
    armed_ = true;
    sent_ = 0;
    for (Bucket& bucket : buckets_) {
      bucket.ready = 0;
    }
  }

  // A gradient of bucket `which` is whole.
  void arrived(std::size_t which) {
    if (!armed_) {
      return;
    }
    late_ = late_ || which < sent_;
    ++buckets_[which].ready;
    while (sent_ < buckets_.size() && buckets_[sent_].ready == buckets_[sent_].parameters.size()) {
      send(buckets_[sent_++]);
    }
  }

  void finish() {
    if (!armed_) {
      arm();
    }
    armed_ = false;
    // A part of its gradient is missing in what the others were sent: no number that follows would be right.
    if (late_) {
      fail(ErrorKind::kUnsupported,
           "a parameter got its gradient in two parts of one backward pass, which several "
           "processes cannot sum");
    }
    while (sent_ < buckets_.size()) {
      send(buckets_[sent_++]);
    }
    for (Bucket& bucket : buckets_) {
      bucket.wait();
      unpack(bucket);
    }
  }

  const std::vector<Bucket>& buckets() const { return buckets_; }

 private:
  static std::vector<Bucket> make_buckets(const std::vector<at::Tensor>& parameters) {
    std::vector<Bucket> buckets;
    for (const at::Tensor& parameter : std::views::reverse(parameters)) {
      const bool joins = !buckets.empty() && buckets.back().numbers * 4 < kBucketBytes &&
                         buckets.back().parameters.front().scalar_type() == parameter.scalar_type();
      if (!joins) {
        buckets.emplace_back();
      }
      buckets.back().parameters.push_back(parameter);
      buckets.back().numbers += parameter.numel();
    }
    return buckets;
  }

  void send(Bucket& bucket) {
    const at::NoGradGuard no_grad;
    const auto count = static_cast<std::int64_t>(bucket.parameters.size());
    // Fresh memory: the gradients of the step before are views of the old one.
    bucket.flat = at::zeros({bucket.numbers + count}, bucket.parameters.front().options().requires_grad(false));
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const at::Tensor& parameter = bucket.parameters[static_cast<std::size_t>(i)];
      if (parameter.grad().defined()) {
        bucket.flat.narrow(0, at, parameter.numel()).view_as(parameter).copy_(parameter.grad());
        bucket.flat.narrow(0, bucket.numbers + i, 1).fill_(1);
      }
      at += parameter.numel();
    }
    bucket.wait = group_.begin_sum(bucket.flat);
  }

  static void unpack(const Bucket& bucket) {
    const at::NoGradGuard no_grad;
    const auto count = static_cast<std::int64_t>(bucket.parameters.size());
    const at::Tensor given = bucket.flat.narrow(0, bucket.numbers, count).cpu();
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const at::Tensor& parameter = bucket.parameters[static_cast<std::size_t>(i)];
      if (given[i].item<double>() > 0) {
        parameter.mutable_grad() = bucket.flat.narrow(0, at, parameter.numel()).view_as(parameter);
      }
      at += parameter.numel();
    }
  }

  ProcessGroup& group_;
  std::vector<Bucket> buckets_;
  std::size_t sent_ = 0;
  bool armed_ = false;
  bool late_ = false;  // a gradient came after its bucket had left
};

GradientSum::GradientSum(std::vector<at::Tensor> parameters, ProcessGroup& group)
    : state_(std::make_shared<State>(parameters, group)) {
  for (std::size_t which = 0; which < state_->buckets().size(); ++which) {
    for (const at::Tensor& parameter : state_->buckets()[which].parameters) {
      auto hook = [weak = std::weak_ptr<State>(state_), which] {
        if (const auto state = weak.lock()) {
          state->arrived(which);
        }
      };
      torch::autograd::impl::set_post_acc_grad_hooks(parameter, std::make_unique<AccumulatedHook>(hook));
    }
  }
}

GradientSum::~GradientSum() = default;

void GradientSum::arm() { state_->arm(); }

void GradientSum::finish() { state_->finish(); }

}  // namespace weft::training
