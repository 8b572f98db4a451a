// SPDX-License-Identifier: Apache-2.0
// Figures of a pattern as the commands print them with --json, and as `weft serve` answers them.
#pragma once

#include <string>

#include "weft/formats/config_json.h"
#include "weft/inspect/cost/model_cost.h"
#include "weft/inspect/graph/statistics.h"
#include "weft/inspect/picture/picture.h"

namespace weft::page {

/// The figures below a picture, without the picture.
formats::Json picture_json(const inspect::Picture& picture);

/// The measures of a graph; null where they are not known.
formats::Json stats_json(const std::string& expression, const inspect::GraphStatistics& stats);

/// Operations, bytes and seconds; null where the machine was not calibrated.
formats::Json cost_json(const inspect::ModelCost& cost);

}  // namespace weft::page
