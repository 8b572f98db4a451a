// SPDX-License-Identifier: Apache-2.0
// What the directory of an encoder-decoder holds, in a few rows.
#pragma once

#include "weft/checkpoint/open_model.h"
#include "weft/cli/commands/attention_summary.h"
#include "weft/cli/output.h"
#include "weft/formats/config_json.h"

namespace weft::cli {

/// {"family", "kind", "parameters", "encoder", "decoder", "width", "positions", "vocabulary", "tables", "config"},
/// attention_json() of `attention` as "encoder_attention", "decoder_attention" and "cross_attention", and what
/// EncoderDecoderImpl::computed() says. Errors: as checkpoint::open_model and encoder_decoder_config; kIo and
/// kFormat of the weights, whose names say which tables are shared.
formats::Json encoder_decoder_summary(const checkpoint::OpenedModel& directory, const PairAttentionSummary& attention);

/// Rows for name_table from it and attention_rows().
Rows encoder_decoder_rows(const formats::Json& summary, const Rows& attention);

}  // namespace weft::cli
