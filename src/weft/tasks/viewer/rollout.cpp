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

namespace weft::tasks {
namespace {

// (A + I) / 2 of a layer, whose rows sum to 1.
at::Tensor step_of(const ViewedPart& part) {
  at::Tensor mass = at::zeros(part.heads.front().picture.mean.sizes(), at::kDouble);
  for (const ViewedHead& head : part.heads) {
    mass += head.picture.mean.to(at::kDouble) * head.picture.edges;
  }
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
  picture.key = (at::matmul(size.to(at::kDouble), flow) / size).repeat_interleave(size);
  // A row of cells is not a row of tokens.
  const std::int64_t listed = cell == 1 ? std::min(top, tokens) : 0;
  const auto [weights, keys] = flow.topk(listed);
  picture.top_key = cell == 1 ? keys.masked_fill(weights == 0, -1) : at::full({tokens, 0}, -1, at::kLong);
  picture.top_weight = cell == 1 ? weights.to(at::kFloat) : at::zeros({tokens, 0});
  return picture;
}

}  // namespace

std::optional<ViewedPart> rollout(const std::vector<ViewedPart>& parts, std::int64_t top) {
  at::Tensor flow;
  const ViewedPart* first = nullptr;
  std::int64_t layers = 0;
  for (const ViewedPart& part : parts) {
    if (part.from_target || part.to_target) {
      continue;
    }
    if (part.heads.empty() || (first != nullptr && first->cell != part.cell)) {
      return std::nullopt;
    }
    first = first == nullptr ? &part : first;
    const at::Tensor step = step_of(part);
    flow = flow.defined() ? at::matmul(step, flow) : step;
    ++layers;
  }
  if (first == nullptr) {
    return std::nullopt;
  }
  ViewedPart result;
  result.name = "rollout";
  result.expression = concat("(A + I) / 2, multiplied over ", layers, " layers; A is the mean of all heads",
                             first->cell == 1 ? "" : ", here of a cell's rows; the largest weight is not known");
  result.all_heads = 1;
  result.cell = first->cell;
  result.heads.push_back({0, picture_of(flow, first->heads.front().picture.top_key.size(0), first->cell, top)});
  return result;
}

}  // namespace weft::tasks
