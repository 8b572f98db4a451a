// SPDX-License-Identifier: Apache-2.0
// LibTorch's operators make the table, so that autograd carries its gradient on to what is learned.
#include "weft/attention/mechanisms/distance_biases.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "weft/core/error.h"

namespace weft::attention {

DistanceBiases::DistanceBiases(const MechanismSite& site, torch::nn::Module& owner, const at::TensorOptions& options,
                               const char* of_buckets)
    : buckets_(site.buckets), causal_(site.causal) {
  const at::NoGradGuard without_gradients;
  if (buckets_) {
    learned_ = true;
    of_buckets_ = site.layer > 0 && !buckets_->in_each_layer
                      ? at::Tensor()
                      : owner.register_parameter(of_buckets, at::empty({buckets_->count, site.heads}, options));
    if (of_buckets_.defined()) {
      of_buckets_.zero_();
    }
    return;
  }
  if (!site.alibi) {
    return;
  }
  slopes_ = behind_ = alibi_slopes(site.heads);
  if (site.learned_slopes) {
    learned_ = true;
    const auto learned = [&, published = slopes_](const char* name) {
      return owner.register_parameter(name, at::empty({site.heads}, options)).copy_(published);
    };
    slopes_ = learned("slopes");
    behind_ = site.causal ? slopes_ : learned("slopes_behind");
  }
}

bool DistanceBiases::can_be_kept() const {
  const at::Tensor& numbers = buckets_ ? of_buckets_ : slopes_;
  require(numbers.defined(), "attention: learned scores of distances are those of layer 0, which nobody has shared");
  return !learned_ || !(at::GradMode::is_enabled() || numbers.is_inference());
}

std::int64_t DistanceBiases::version() const {
  if (!learned_) {
    return 0;
  }
  // Both only grow: their sum stays where neither has changed.
  return static_cast<std::int64_t>(buckets_ ? of_buckets_._version() : slopes_._version() + behind_._version());
}

const void* DistanceBiases::place() const { return buckets_ ? of_buckets_.const_data_ptr() : slopes_.const_data_ptr(); }

std::int64_t DistanceBiases::reach_for(std::int64_t farthest) const {
  return buckets_ ? std::min(farthest, buckets_->farthest) : farthest;
}

DistanceTable DistanceBiases::table(std::int64_t reach, const at::TensorOptions& options) const {
  const at::Tensor distances = at::arange(-reach, reach + 1, options);
  if (buckets_) {
    const at::Tensor places = distance_buckets(distances.to(at::kLong), *buckets_, causal_);
    return {of_buckets_.index_select(0, places).t().to(options).contiguous(), reach};
  }
  const auto wide = [&](const at::Tensor& each) { return each.to(options).unsqueeze(-1); };  // [H, 1]
  return {wide(behind_) * distances.clamp_max(0) - wide(slopes_) * distances.clamp_min(0), reach};
}

void DistanceBiases::share(const DistanceBiases* first, const MechanismSite& site, const MechanismSpec& spec) {
  if (!buckets_ || buckets_->in_each_layer || site.layer == 0) {
    return;
  }
  require(first != nullptr && first->of_buckets_.defined() && first->buckets_->count == buckets_->count &&
              first->buckets_->farthest == buckets_->farthest,
          "attention of layer ", site.layer, ": `", spec.description, "` takes scores of ", buckets_->count,
          " buckets of distances up to ", buckets_->farthest, " from layer 0, which has not got them");
  of_buckets_ = first->of_buckets_;
  took_ = true;
}

MechanismSpec with_learned_distances(MechanismSpec spec, const MechanismSite& site) {
  if (site.buckets) {
    spec.parameters.emplace_back("distance_biases");
  } else if (site.learned_slopes) {
    spec.parameters.insert(spec.parameters.end(), {"slopes", "slopes_behind"});
  }
  return spec;
}

at::Tensor distance_buckets(const at::Tensor& distances, const DistanceBuckets& buckets, bool causal) {
  const std::int64_t count = causal ? buckets.count : buckets.count / 2;
  const at::Tensor away = causal ? distances.clamp_min(0) : distances.abs();
  const std::int64_t single = count / 2;
  // In float32, as released: a logarithm that is a whole number must not fall below it.
  const at::Tensor growth = (away.to(at::kFloat) / static_cast<double>(single)).log() /
                            std::log(static_cast<double>(buckets.farthest) / static_cast<double>(single)) *
                            static_cast<double>(count - single);
  const at::Tensor large = (single + growth.to(at::kLong)).clamp_max(count - 1);
  const at::Tensor bucket = at::where(away < single, away, large);
  return causal ? bucket : bucket + (distances < 0).to(at::kLong) * count;
}

}  // namespace weft::attention
