// SPDX-License-Identifier: Apache-2.0
// A model's card as rows for people.
#pragma once

#include <cstdint>

#include "weft/checkpoint/open_model.h"
#include "weft/models/transformer_config.h"
#include "weft/report/named_values.h"
#include "weft/tasks/card/card.h"

namespace weft::report {

/// Rows of a model that predicts: kind and size, shape, positions.
NamedValues model_rows(const models::TransformerConfig& config, std::int64_t parameters);

/// Rows of the card of `directory`.
NamedValues card_rows(const checkpoint::OpenedModel& directory, const tasks::Card& card);

}  // namespace weft::report
