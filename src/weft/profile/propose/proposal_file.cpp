// SPDX-License-Identifier: Apache-2.0
// Each layer has what `weft bench attention --pattern` needs to measure it.
#include "weft/profile/propose/proposal_file.h"

#include <algorithm>
#include <string>
#include <utility>

#include "weft/core/files.h"
#include "weft/profile/prune/prune_file.h"

namespace weft::profile {
namespace {

using formats::Json;

double share_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

Json proposed_layer(const LayerProposal& layer, bool costs_are_seconds) {
  Json heads = Json::array();
  for (const HeadProposal& head : layer.heads) {
    heads.push_back({{"expression", head.expression}, {"kept_mass", head.kept_mass}, {"cost", head.cost}});
  }
  return {{"name", layer.part->site.name},
          {"expression", layer.expression},
          {"base", layer.base->pattern().to_string()},
          {"heads", std::move(heads)},
          {"head_dim", layer.part->site.head_dim},
          {"queries", layer.base->site().query_length},
          {"keys", layer.base->site().key_length},
          {"cost", layer.cost},
          {"base_cost", layer.base_cost},
          {"cost_share", share_of(layer.cost, layer.base_cost)},
          {"seconds", costs_are_seconds ? Json(layer.cost) : Json(nullptr)},
          {"rewired", layer.rewired},
          {"estimated", !layer.part->sums.has_edges()}};
}

}  // namespace

Json proposal_json(const AttentionProfile& profile, const std::vector<LayerProposal>& layers,
                   const ProposeSettings& settings, bool costs_are_seconds) {
  std::vector<std::string> replaced(profile.parts.size());
  Json parts = Json::array();
  double cost = 0;
  double base_cost = 0;
  double least = 1;
  for (const LayerProposal& layer : layers) {
    replaced[static_cast<std::size_t>(layer.part - profile.parts.data())] = layer.expression;
    parts.push_back(proposed_layer(layer, costs_are_seconds));
    cost += layer.cost;
    base_cost += layer.base_cost;
    for (const HeadProposal& head : layer.heads) {
      least = std::min(least, head.kept_mass);
    }
  }
  Json json = begun_prune_file(profile.model);
  json.update({{"profile", {{"data", formats::to_json(profile.data)}}},
               {"settings", formats::to_json(settings)},
               {"kept_mass", least},
               {"cost", base_cost},
               {"kept_cost", cost},
               {"cost_share", share_of(cost, base_cost)},
               {"cost_unit", cost_unit(costs_are_seconds)}});
  json.update(attention_lists(profile, replaced));
  json["parts"] = std::move(parts);
  return json;
}

void write_proposal(const std::filesystem::path& path, const Json& proposal, const AttentionProfile& profile,
                    const std::filesystem::path& model_directory) {
  const std::filesystem::path folder = path.parent_path();
  write_base_files(profile, model_directory, folder.empty() ? "." : folder);
  write_file_atomically(path, formats::print_json(proposal, 1) + "\n");
}

}  // namespace weft::profile
