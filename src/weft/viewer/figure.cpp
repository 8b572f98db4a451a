// SPDX-License-Identifier: Apache-2.0
// Numbers of pictures, with a negative one where a pattern forbids a cell.
#include "weft/viewer/figure.h"

#include <ATen/TensorOperators.h>

#include <algorithm>
#include <utility>

#include "weft/core/error.h"

namespace weft::viewer {
namespace {

inspect::HeatPanel panel_of(const tasks::ViewedPart& part, const tasks::ViewedHead& head) {
  const attention::HeadPicture& picture = head.picture;
  const at::Tensor shown = picture.mean.masked_fill(picture.edges == 0, -1.0).contiguous();
  const float* const numbers = shown.const_data_ptr<float>();
  return {.name = part.all_heads > 1 ? concat("head ", head.number) : std::string(),
          .rows = shown.size(0),
          .columns = shown.size(1),
          .values = {numbers, numbers + shown.numel()}};
}

}  // namespace

inspect::HeatFigure attention_figure(const tasks::AttentionView& view, const std::string& model) {
  inspect::HeatFigure figure;
  figure.title = concat("Attention of ", model);
  figure.notes = {"Queries from top to bottom, keys from left to right: the mean weight of the edges of a cell."};
  std::int64_t largest = 1;
  for (const tasks::ViewedPart& part : view.parts) {
    if (part.heads.empty()) {
      continue;
    }
    inspect::HeatLine line{concat(part.name, "   ", part.expression), {}};
    for (const tasks::ViewedHead& head : part.heads) {
      line.panels.push_back(panel_of(part, head));
    }
    figure.lines.push_back(std::move(line));
    largest = std::max(largest, part.cell);
  }
  if (largest > 1) {
    figure.notes.push_back(concat("A cell is up to ", largest, " x ", largest, " pairs of tokens."));
  }
  return figure;
}

}  // namespace weft::viewer
