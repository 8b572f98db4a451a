// SPDX-License-Identifier: Apache-2.0
// A plain loss is the model's own, so that it is that of `transformers`.
#include "weft/fine_tuning/label_logits.h"

#include <ATen/ops/cross_entropy_loss.h>

#include <algorithm>
#include <cmath>

#include "weft/metrics/sums.h"
#include "weft/models/heads/task_loss.h"
#include "weft/tasks/decode/scores.h"
#include "weft/tasks/task_run.h"

namespace weft::fine_tuning {

at::Tensor label_loss(const at::Tensor& logits, const at::Tensor& targets, const LabelLoss& options) {
  if (!options.weights.defined() && options.smoothing == 0.0) {
    return models::cross_entropy(logits.flatten(0, -2), targets.flatten());
  }
  return at::cross_entropy_loss(logits.to(at::kFloat).flatten(0, -2), targets.flatten(), options.weights,
                                at::Reduction::Mean, -100, options.smoothing);
}

void keep_logits(const tasks::WindowOutput& output, std::span<double> kept) {
  const std::span<const float> logits = tasks::numbers(output.logits);
  tasks::require_finite(logits);
  std::copy(logits.begin(), logits.end(), kept.begin());
}

std::vector<std::int64_t> best_labels(std::span<const double> kept, std::size_t width) {
  std::vector<std::int64_t> best;
  best.reserve(kept.size() / width);
  for (std::size_t begin = 0; begin < kept.size(); begin += width) {
    const auto row = kept.subspan(begin, width);
    best.push_back(std::max_element(row.begin(), row.end()) - row.begin());
  }
  return best;
}

double cross_entropy_of(std::span<const double> logits, std::int64_t label) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const double logit : logits) {
    sum += std::exp(logit - largest);
  }
  return std::log(sum) + largest - logits[static_cast<std::size_t>(label)];
}

double mean_cross_entropy(std::span<const double> kept, std::size_t width, std::span<const std::int64_t> truth) {
  std::vector<double> losses;
  losses.reserve(truth.size());
  for (std::size_t i = 0; i < truth.size(); ++i) {
    losses.push_back(cross_entropy_of(kept.subspan(i * width, width), truth[i]));
  }
  return metrics::mean(losses);
}

std::vector<double> probabilities(std::span<const double> logits) { return tasks::softmax_of_doubles(logits); }

}  // namespace weft::fine_tuning
