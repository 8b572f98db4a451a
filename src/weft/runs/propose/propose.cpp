// SPDX-License-Identifier: Apache-2.0
// The model of the profile is looked for where it was when it was profiled, unless another place is given.
#include "weft/runs/propose/propose.h"

#include <filesystem>
#include <optional>

#include "weft/core/error.h"
#include "weft/core/system/option_name.h"
#include "weft/core/work/watched_progress.h"
#include "weft/formats/field_conditions.h"
#include "weft/profile/propose/proposal_file.h"
#include "weft/runs/evaluate/held_out.h"

namespace weft::runs {
namespace {

using formats::Json;

// Of a profile of one stack. Texts are as long as those that the time is predicted for.
Json losses(const Json& proposal, const std::vector<profile::LayerProposal>& layers, const ProposeConfig& config,
            const std::filesystem::path& model) {
  WatchedProgress progress("scoring", "tokens");
  HeldOutComparison comparison;
  comparison.model = model;
  comparison.attention = proposal.value("attention", std::vector<std::string>{});
  comparison.text = config.held_out;
  comparison.context = layers.front().base->site().query_length;
  comparison.max_bytes = config.max_bytes;
  comparison.progress = progress.callback();
  return compare_held_out(comparison);
}

}  // namespace

Json propose(const ProposeRequest& request) {
  ProposeConfig config;
  profile::ProposeSettings settings;
  formats::update_each_from_json(request.given, request.asker, config, settings);
  Json values = formats::to_json(settings);
  values.update(formats::to_json(config));
  formats::check_given_conditions<profile::ProposeSettings>(request.given, values, request.asker);
  formats::check_given_conditions<ProposeConfig>(request.given, values, request.asker);
  const profile::LayoutCost cost = request.cost(config.rates);
  std::optional<BusyBar> bar("fitting patterns");
  const profile::AttentionProfile found = profile::read_profile(request.profile);
  const std::filesystem::path model = config.model.empty() ? found.model.path : config.model;
  const std::vector<profile::LayerProposal> layers =
      profile::propose(found, settings, cost, std::filesystem::is_directory(model) ? model : std::filesystem::path());
  Json proposal = profile::proposal_json(found, layers, settings, cost.is_seconds());
  bar.reset();
  proposal["held_out"] = config.held_out.empty() ? Json(nullptr) : losses(proposal, layers, config, model);
  if (!request.out.empty()) {
    profile::write_proposal(request.out, proposal, found, model);
  }
  return proposal;
}

}  // namespace weft::runs
