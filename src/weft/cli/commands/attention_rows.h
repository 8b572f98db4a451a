// SPDX-License-Identifier: Apache-2.0
// What the layers of a model attend to, as rows for people.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/cli/front/output.h"
#include "weft/models/encoder_decoder_config.h"
#include "weft/tasks/card/attention_summary.h"

namespace weft::cli {

/// Rows for name_table: the effective expression, and its density or the operations of a layer.
Rows attention_rows(const std::vector<tasks::AttentionSummary>& summaries, std::int64_t length);
/// The same rows, whose names begin with "encoder ", "decoder " or "cross-", of what summarize_attention() gave.
Rows attention_rows(const tasks::PairAttentionSummary& summary, const models::EncoderDecoderConfig& config);
/// The rows that say what a user should know, alone.
Rows caution_rows(const std::vector<tasks::AttentionSummary>& summaries);

}  // namespace weft::cli
