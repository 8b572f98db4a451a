// SPDX-License-Identifier: Apache-2.0
// What the layers of a model attend to, as rows for people.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/models/encoder_decoder_config.h"
#include "weft/report/named_values.h"
#include "weft/tasks/card/attention_summary.h"

namespace weft::report {

/// Rows: the effective expression, and its density or the operations of a layer.
NamedValues attention_rows(const std::vector<tasks::AttentionSummary>& summaries, std::int64_t length);
/// The same rows, whose names begin with "encoder ", "decoder " or "cross-", of what summarize_attention() gave.
NamedValues attention_rows(const tasks::PairAttentionSummary& summary, const models::EncoderDecoderConfig& config);
/// The rows that say what a user should know, alone.
NamedValues caution_rows(const std::vector<tasks::AttentionSummary>& summaries);

}  // namespace weft::report
