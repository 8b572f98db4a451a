// SPDX-License-Identifier: Apache-2.0
// What is kept of a layer, in the pattern language: `causal & heads(block(64, edges("prune/l00h00.mtx")), ...)`.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "weft/profile/prune/prune.h"

namespace weft::profile {

/// Positions of keys that the layer's texts may have: those of the encoder for cross-attention.
std::int64_t longest_keys(const AttentionProfile& profile, const Part& part);

/// Writes the graph of each head into `folder`, as a Matrix Market file that covers the model's longest text.
void write_graphs(const std::filesystem::path& folder, const PruneResult& result, std::int64_t keys);

/// Whether write_graphs() calls a file so.
bool is_graph_name(std::string_view name);

/// The pattern of the layer, its graphs in `folder` below `directory`, where write_graphs() put them. Positions behind
/// the longest text of the profile keep the edges that they had.
pattern::Pattern pruned_pattern(const PruneResult& result, const std::string& folder,
                                const std::filesystem::path& directory, std::int64_t keys);

}  // namespace weft::profile
