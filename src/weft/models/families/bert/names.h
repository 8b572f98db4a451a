// SPDX-License-Identifier: Apache-2.0
// The names of tensors that BERT shares with families that descend from it.
#pragma once

#include <vector>

#include "weft/models/families/name_rows.h"

namespace weft::models {

/// The rows of a head for masked words as BERT has it, and those of `own`, which come behind them.
std::vector<NameRow> with_masked_lm_names(std::vector<NameRow> own);

/// The rows of `own`, and those of BERT.
std::vector<NameRow> with_bert_names(std::vector<NameRow> own);

}  // namespace weft::models
