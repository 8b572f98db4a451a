// SPDX-License-Identifier: Apache-2.0
// The file of `weft propose`: a pattern for each layer with what it keeps and costs, as --attention @FILE and
// read_prune() take it.
#pragma once

#include <filesystem>
#include <vector>

#include "weft/formats/config_json.h"
#include "weft/profile/propose/propose.h"

namespace weft::profile {

/// What a proposal says: the lists of expressions of all layers, what each layer's heads keep and cost, and the sums.
/// `costs_are_seconds` as LayoutCost has it.
formats::Json proposal_json(const AttentionProfile& profile, const std::vector<LayerProposal>& layers,
                            const ProposeSettings& settings, bool costs_are_seconds);

/// Writes `proposal` into `path`, and beside it the graphs that patterns of the model name, which lie below
/// `model_directory`. Errors: as write_base_files().
void write_proposal(const std::filesystem::path& path, const formats::Json& proposal, const AttentionProfile& profile,
                    const std::filesystem::path& model_directory);

}  // namespace weft::profile
