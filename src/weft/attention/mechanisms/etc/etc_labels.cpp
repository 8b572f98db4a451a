// SPDX-License-Identifier: Apache-2.0
// Look-ups, and a softmax that gives rows without an edge zeros.
#include "weft/attention/mechanisms/etc/etc_labels.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>

#include <vector>

#include "weft/attention/seeded_dropout.h"

namespace weft::attention {
namespace {

constexpr double kUnseen = -1e30;  // beside any score its exp is 0 in float32 and float64
constexpr std::int64_t kLastLabels = 3;

}  // namespace

at::Tensor distance_labels(const at::Tensor& distance, std::int64_t most) {
  const at::Tensor clipped = distance.clamp(-most, most);
  return at::where(clipped < 0, most - clipped, clipped);
}

at::Tensor look_up(const at::Tensor& by_label, const at::Tensor& index) {
  std::vector<std::int64_t> sizes = by_label.sizes().vec();
  sizes.back() = index.size(1);
  return at::gather(by_label, -1, index.expand(sizes));
}

at::Tensor last_label(const at::Tensor& by_label, LastLabel label) {
  return by_label.narrow(-1, by_label.size(-1) - kLastLabels + static_cast<std::int64_t>(label), 1);
}

at::Tensor by_sentence(const at::Tensor& by_label, const at::Tensor& own) {
  return at::where(own.unsqueeze(1), last_label(by_label, LastLabel::kOwn), last_label(by_label, LastLabel::kOthers));
}

at::Tensor probabilities(const at::Tensor& scores, const at::Tensor& edges, double dropout, const DropoutSeed& seed) {
  const at::Tensor none = edges.logical_not();
  const at::Tensor weights = at::softmax(scores.masked_fill(none, kUnseen), -1).masked_fill(none, 0.0);
  return dropout > 0.0 ? seeded_dropout(weights, dropout, seed) : weights;
}

}  // namespace weft::attention
