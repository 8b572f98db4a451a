// SPDX-License-Identifier: Apache-2.0
// A batch of token ids, looked at before it is computed: values outside their tables, and what the rows differ in, as
// attention wants it: real lengths, padding inside the text, positions bound to `input`.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/attention/context.h"

namespace weft::models {

/// Errors: kArgument unless every value is in [0, end): `name` says what of, `table` what `end` is.
void check_range(const at::Tensor& values, std::int64_t end, const char* name, const char* table);

/// One past the last kept token of each row, int64 [B], of a bool [B, N].
at::Tensor row_lengths(const at::Tensor& keep);

/// Fills `rows` and `key_keep` of `context` for a batch [batch, length]. A row's real length ends behind its last kept
/// token: patterns are laid out over that, and padding behind it has no edges. `mask` [batch, length], bool or integer,
/// may be undefined; tokens that it drops before the end of their row are hidden as keys. Rows stay empty when nothing
/// differs. Errors: kArgument for a mask of another shape or type, or global positions that fit neither the batch nor
/// the row's real length.
void describe_rows(attention::AttentionContext& context, const at::Tensor& mask,
                   const std::vector<std::vector<std::int64_t>>& global_positions, const at::Tensor& input_ids);

}  // namespace weft::models
