// SPDX-License-Identifier: Apache-2.0
// A view as a figure for a paper, and what of a page it needs.
#pragma once

#include <string>

#include "weft/inspect/picture/heat.h"
#include "weft/tasks/viewer/attention_view.h"

namespace weft::viewer {

/// A line for each part that has something to show, a panel for each head: the mean weight of the edges of a cell.
inspect::HeatFigure attention_figure(const tasks::AttentionView& view, const std::string& model);

}  // namespace weft::viewer
