// SPDX-License-Identifier: Apache-2.0
// Products of [cells, cells], in float64: at most 1,024 cells on each side, so that depth costs nothing to speak of.
#include "weft/tasks/viewer/rollout.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/work/pieces.h"

namespace weft::tasks {
namespace {

// (A + I) / 2 of a layer, whose rows sum to 1, from the sum of its heads.
at::Tensor step_of(const at::Tensor& mass) {
  const at::Tensor rows = mass.sum(1, true);
  const at::Tensor even = at::eye(mass.size(0), at::kDouble);
  return (mass / rows.clamp_min(1e-30) + even + (rows == 0).to(at::kDouble) * even) / 2;
}

// The flow [cells, cells] of `tokens` tokens as the picture of a head.
attention::HeadPicture picture_of(const at::Tensor& flow, std::int64_t tokens, std::int64_t cell, std::int64_t top) {
  const at::Tensor begin = at::arange(flow.size(0)) * cell;
  const at::Tensor size = (begin + cell).clamp_max(tokens) - begin;  // int64 [cells]: tokens of each
  attention::HeadPicture picture;
  picture.mean = (flow / size).to(at::kFloat);
  picture.largest = picture.mean;
  picture.edges = size.unsqueeze(1) * size * (flow > 0);
  picture.visible = (size * (flow > 0)).sum(1).to(at::kDouble);
  picture.key = (at::matmul(size.to(at::kDouble), flow) / size).repeat_interleave(size);
  // A row of cells is not a row of tokens.
  const std::int64_t listed = cell == 1 ? std::min(top, tokens) : 0;
  const auto [weights, keys] = flow.topk(listed);
  picture.top_key = cell == 1 ? keys.masked_fill(weights == 0, -1) : at::full({tokens, 0}, -1, at::kLong);
  picture.top_weight = cell == 1 ? weights.to(at::kFloat) : at::zeros({tokens, 0});
  return picture;
}

}  // namespace

std::optional<RolloutSums> RolloutSums::of(const std::vector<ViewedPart>& parts) {
  RolloutSums sums;
  for (std::size_t number = 0; number < parts.size(); ++number) {
    const ViewedPart& part = parts[number];
    if (part.from_target || part.to_target) {
      continue;
    }
    if (part.heads.empty() || (!sums.layers_.empty() && sums.cell_ != part.cell)) {
      return std::nullopt;
    }
    sums.cell_ = part.cell;
    Layer layer{number, {}};
    for (std::size_t head = 0; head < part.heads.size(); ++head) {
      layer.missing.insert(head);
    }
    sums.layers_.push_back(std::move(layer));
  }
  return sums.layers_.empty() ? std::nullopt : std::optional<RolloutSums>(std::move(sums));
}

void RolloutSums::add(const HeadPlace& head, const attention::HeadPicture& picture) {
  for (Layer& layer : layers_) {
    if (layer.part == head.first && layer.missing.erase(head.second) > 0) {
      const at::Tensor mass = picture.mean.to(at::kDouble) * picture.edges;
      layer.mass = layer.mass.defined() ? layer.mass + mass : mass;
    }
  }
}

std::vector<RolloutSums::HeadPlace> RolloutSums::missing() const {
  std::vector<HeadPlace> heads;
  for (const Layer& layer : layers_) {
    for (const std::size_t head : layer.missing) {
      heads.emplace_back(layer.part, head);
    }
  }
  return heads;
}

ViewedPart RolloutSums::part() const {
  ViewedPart result;
  result.name = kRollout;
  result.expression = concat("(A + I) / 2, multiplied over ", layers_.size(), " layers; A is the mean of all heads",
                             cell_ == 1 ? "" : ", here of a cell's rows; the largest weight is not known");
  result.all_heads = 1;
  result.cell = cell_;
  result.heads.push_back({0, {}});
  return result;
}

attention::HeadPicture RolloutSums::picture(std::int64_t tokens, std::int64_t top) const {
  at::Tensor flow;
  for (const Layer& layer : layers_) {
    require(layer.missing.empty(), "attention: rollout needs all heads of all layers");
    const at::Tensor step = step_of(layer.mass);
    flow = flow.defined() ? at::matmul(step, flow) : step;
  }
  return picture_of(flow, tokens, cell_, top);
}

std::optional<ViewedPart> rollout(const std::vector<ViewedPart>& parts, std::int64_t top) {
  std::optional<RolloutSums> sums = RolloutSums::of(parts);
  if (!sums) {
    return std::nullopt;
  }
  std::int64_t tokens = 0;
  for (const RolloutSums::HeadPlace& head : sums->missing()) {
    const attention::HeadPicture& picture = parts[head.first].heads[head.second].picture;
    tokens = picture.top_key.size(0);
    sums->add(head, picture);
    end_piece();
  }
  ViewedPart result = sums->part();
  result.heads.front().picture = sums->picture(tokens, top);
  return result;
}

}  // namespace weft::tasks
