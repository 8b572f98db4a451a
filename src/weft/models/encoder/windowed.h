// SPDX-License-Identifier: Apache-2.0
// Longformer's self-attention (Beltagy et al. 2020): a window in each layer, and global positions with projections of
// their own. Encoders of Longformer and LED have it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/layers/block_config.h"

namespace weft::models {

/// The pattern of a layer. The rows of global positions are replaced by their own attention, so that `input` counts as
/// keys alone.
std::string windowed_pattern(std::int64_t window);
/// What builds the self-attention of a layer: positions bound to `input` look at every key through `global_qkv`.
layers::SelfAttentionFactory windowed_layer();
/// Errors: kArgument naming `where` unless there is one even window, or one for each layer.
void check_windows(const std::vector<std::int64_t>& windows, std::int64_t layers, std::string_view where);

}  // namespace weft::models
