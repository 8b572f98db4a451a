// SPDX-License-Identifier: Apache-2.0
// A part is named by where its layer lies in the module tree, which names its weights in a checkpoint too.
#include "weft/tasks/profile/model_profile.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "weft/attention/mechanism.h"
#include "weft/core/error.h"

namespace weft::tasks {
namespace {

// "decoder.layers.3" of "decoder.layers.3.attention.mechanism".
std::string layer_of(const std::string& path) {
  constexpr std::string_view kLayers = "layers.";
  const std::size_t begin = path.find(kLayers);
  const std::size_t end = begin == std::string::npos ? begin : path.find('.', begin + kLayers.size());
  return path.substr(0, end);
}

profile::PartSite site_of_part(const std::string& path, const attention::AttentionImpl& mechanism) {
  const attention::MechanismSite& site = mechanism.site();
  profile::PartSite part;
  part.name = layer_of(path) + (site.cross ? ".cross" : ".self");
  part.layer = site.layer;
  part.cross = site.cross;
  part.causal = site.causal;
  part.heads = site.heads;
  part.head_dim = site.head_dim;
  part.expression = mechanism.description();
  part.maximum_length = site.maximum_length;
  part.reason = attention::why_not_observed(mechanism.spec());
  return part;
}

// Where there is one stack, what it is called tells nothing.
void shorten(std::vector<profile::Part>& parts) {
  const auto is_of_decoder = [](const profile::Part& part) { return part.site.name.starts_with("decoder."); };
  if (std::none_of(parts.begin(), parts.end(), is_of_decoder)) {
    for (profile::Part& part : parts) {
      part.site.name.erase(0, std::min(part.site.name.find("layers."), part.site.name.size()));
    }
  }
}

}  // namespace

ModelProfile::ModelProfile(torch::nn::Module& model, const profile::MassShape& sums) {
  std::map<std::string, std::size_t> named;
  for (const auto& entry : model.named_modules()) {
    const auto* const mechanism = dynamic_cast<const attention::AttentionImpl*>(entry.value().get());
    if (mechanism == nullptr) {
      continue;
    }
    profile::PartSite site = site_of_part(entry.key(), *mechanism);
    // A layer may have a second mechanism, for texts that are too short for its first.
    const auto [found, is_new] = named.emplace(site.name, parts_.size());
    if (is_new) {
      profile::MassShape shape = sums;
      shape.heads = site.heads;
      parts_.push_back({std::move(site), profile::MassSums(shape)});
    }
    part_of_.emplace(&mechanism->site(), found->second);
  }
  shorten(parts_);
}

void ModelProfile::observe(const attention::ObservedCall& seen) {
  const auto found = part_of_.find(&seen.site);
  require(found != part_of_.end(), "profile: a call of layer ", seen.site.layer, " is of another model");
  profile::Part& part = parts_[found->second];
  if (seen.spec.description != part.site.expression) {
    part.site.note = concat("short texts ran as `", seen.spec.description, "`");
  }
  try {
    attention::add_mass(part.sums, seen.call);
  } catch (const Error& error) {
    throw Error(error.kind(), concat(part.site.name, ": ", error.what()), error.hint());
  }
}

}  // namespace weft::tasks
