// SPDX-License-Identifier: Apache-2.0
// What the rows of a batch differ in, as attention wants it: real lengths, padding inside the text, positions bound to
// `input`.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/attention/mechanism.h"

namespace weft::models {

/// Fills `rows` and `key_keep` of `context` for a batch [batch, length]. A row's real length ends behind its last kept
/// token: patterns are laid out over that, and padding behind it has no edges. `mask` [batch, length], bool or integer,
/// may be undefined; tokens that it drops before the end of their row are hidden as keys. Rows stay empty when nothing
/// differs. Errors: kArgument for a mask of another shape or type, or global positions that fit neither the batch nor
/// the row's real length.
void describe_rows(attention::AttentionContext& context, const at::Tensor& mask,
                   const std::vector<std::vector<std::int64_t>>& global_positions, const at::Tensor& input_ids);

}  // namespace weft::models
