// SPDX-License-Identifier: Apache-2.0
// Sums in float32, model by model, in their order.
#include "weft/generation/joint_decoder.h"

#include <ATen/ops/log_softmax.h>
#include <ATen/ops/logaddexp.h>

#include <cmath>
#include <numeric>
#include <utility>

#include "weft/core/error.h"

namespace weft::generation {

std::vector<double> joint_weights(std::vector<double> weights, std::size_t models, std::string_view where) {
  if (weights.empty()) {
    weights.assign(models, 1.0);
  }
  require(models > 0 && weights.size() == models, where, ": there are ", weights.size(), " weights for ", models,
          " models");
  for (const double weight : weights) {
    require(std::isfinite(weight) && weight >= 0, where, ": a weight must be a finite number from 0 on, found ",
            weight);
  }
  const double largest = *std::ranges::max_element(weights);
  require(largest > 0, where, ": one of the weights must be above 0");
  for (double& weight : weights) {
    weight /= largest;  // first, since a sum of large ones is no number
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) {
    weight /= sum;
  }
  return weights;
}

JointDecoder::JointDecoder(std::vector<std::unique_ptr<Decoder>> models, std::vector<double> weights, JointMean mean)
    : models_(std::move(models)),
      weights_(joint_weights(std::move(weights), models_.size(), "joint decoder")),
      mean_(mean) {}

layers::DecodingState JointDecoder::initial_state() {
  states_.clear();
  for (const auto& model : models_) {
    states_.push_back(model->initial_state());
  }
  return layers::DecodingState(layers::DecodingState::Layers());
}

at::Tensor JointDecoder::step(const at::Tensor& tokens, layers::DecodingState& /*state*/) {
  at::Tensor joint;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    at::Tensor scores = models_[i]->step(tokens, states_[i]).detach().to(at::kCPU, at::kFloat);
    require(!joint.defined() || joint.size(1) == scores.size(1), "models that write together have one vocabulary, ",
            "found ", joint.defined() ? joint.size(1) : 0, " and ", scores.size(1), " tokens");
    if (weights_[i] == 0) {
      continue;
    }
    if (!models_[i]->gives_logarithms()) {
      scores = at::log_softmax(scores, 1);
    }
    const at::Tensor weighted =
        mean_ == JointMean::kProbabilities ? scores + std::log(weights_[i]) : scores * weights_[i];
    joint = !joint.defined()                     ? weighted
            : mean_ == JointMean::kProbabilities ? at::logaddexp(joint, weighted)
                                                 : joint + weighted;
  }
  return joint;
}

void JointDecoder::reorder(layers::DecodingState& /*state*/, const at::Tensor& rows) {
  for (std::size_t i = 0; i < models_.size(); ++i) {
    models_[i]->reorder(states_[i], rows);
  }
}

std::optional<std::int64_t> JointDecoder::longest() const {
  std::optional<std::int64_t> least;
  for (const auto& model : models_) {
    const std::optional<std::int64_t> longest = model->longest();
    least = longest && (!least || *longest < *least) ? longest : least;
  }
  return least;
}

}  // namespace weft::generation
