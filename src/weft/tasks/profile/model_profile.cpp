// SPDX-License-Identifier: Apache-2.0
// A part for each attention of a layer, which the calls of its mechanisms are added to.
#include "weft/tasks/profile/model_profile.h"

#include "weft/core/error.h"
#include "weft/tasks/profile/observed_layers.h"

namespace weft::tasks {
namespace {

profile::PartSite site_of_part(const ObservedLayer& layer) {
  const attention::AttentionImpl& mechanism = *layer.mechanisms.front();
  const attention::MechanismSite& site = layer.site();
  profile::PartSite part;
  part.name = layer.name;
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

}  // namespace

ModelProfile::ModelProfile(const torch::nn::Module& model, const profile::MassShape& sums) {
  for (const ObservedLayer& layer : observed_layers(model)) {
    for (const attention::AttentionImpl* const mechanism : layer.mechanisms) {
      part_of_.emplace(&mechanism->site(), parts_.size());
    }
    profile::MassShape shape = sums;
    shape.heads = layer.site().heads;
    parts_.push_back({site_of_part(layer), profile::MassSums(shape)});
  }
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
