// SPDX-License-Identifier: Apache-2.0
// A model's layers as the parts of a profile, and the sums of every call that they make.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include <torch/nn/module.h>

#include "weft/attention/profile/attention_observer.h"
#include "weft/profile/attention_profile.h"

namespace weft::tasks {

class ModelProfile final : public attention::AttentionObserver {
 public:
  /// Finds the attention of `model`, which must outlive this. `sums`: tile and edge limit of all parts.
  ModelProfile(const torch::nn::Module& model, const profile::MassShape& sums);

  /// Errors: those of attention::add_mass with the name of the part.
  void observe(const attention::ObservedCall& seen) override;

  std::vector<profile::Part>& parts() noexcept { return parts_; }

 private:
  std::vector<profile::Part> parts_;
  std::map<const attention::MechanismSite*, std::size_t> part_of_;
};

}  // namespace weft::tasks
