// SPDX-License-Identifier: Apache-2.0
// A model's card as rows for people.
#pragma once

#include <cstdint>

#include "weft/checkpoint/open_model.h"
#include "weft/cli/front/output.h"
#include "weft/models/transformer_config.h"
#include "weft/tasks/card/card.h"

namespace weft::cli {

/// Rows for name_table of a model that predicts: kind and size, shape, positions.
Rows model_rows(const models::TransformerConfig& config, std::int64_t parameters);

/// Rows for name_table of the card of `directory`.
Rows card_rows(const checkpoint::OpenedModel& directory, const tasks::Card& card);

}  // namespace weft::cli
