// SPDX-License-Identifier: Apache-2.0
// What the directory of an encoder-decoder holds, in a few rows.
#pragma once

#include "weft/cli/commands/attention_summary.h"
#include "weft/cli/output.h"
#include "weft/formats/config_json.h"
#include "weft/formats/tensor_file.h"
#include "weft/models/encoder_decoder_config.h"

namespace weft::cli {

/// {"family", "kind", "parameters", "encoder", "decoder", "width", "positions", "vocabulary", "tables", "config"},
/// attention_json() of `attention` as "encoder_attention", "decoder_attention" and "cross_attention", and what
/// EncoderDecoderImpl::computed() says. The names in `weights` say which tables are shared. Errors: kFormat of the
/// weights.
formats::Json encoder_decoder_summary(models::EncoderDecoderConfig config, const formats::TensorFile& weights,
                                      const PairAttentionSummary& attention);

/// Rows for name_table from it and attention_rows().
Rows encoder_decoder_rows(const formats::Json& summary, const Rows& attention);

}  // namespace weft::cli
