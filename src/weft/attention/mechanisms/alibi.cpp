// SPDX-License-Identifier: Apache-2.0
// LibTorch's operators make the table, so that autograd carries its gradient on to the slopes.
#include "weft/attention/mechanisms/alibi.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

#include <utility>

namespace weft::attention {

bool AlibiSlopes::can_be_kept() const { return !learned || !(at::GradMode::is_enabled() || before.is_inference()); }

std::int64_t AlibiSlopes::version() const {
  if (!learned) {
    return 0;
  }
  // Both only grow: their sum stays where neither has changed.
  return static_cast<std::int64_t>(before._version()) + static_cast<std::int64_t>(behind._version());
}

MechanismSpec with_learned_slopes(MechanismSpec spec, const MechanismSite& site) {
  if (site.learned_slopes) {
    spec.parameters.insert(spec.parameters.end(), {"slopes", "slopes_behind"});
  }
  return spec;
}

AlibiSlopes alibi_slopes_at(const MechanismSite& site, torch::nn::Module& owner, const at::TensorOptions& options) {
  if (!site.alibi) {
    return {};
  }
  const at::Tensor published = alibi_slopes(site.heads);
  if (!site.learned_slopes) {
    return {published, published};
  }
  const at::NoGradGuard without_gradients;
  const auto learned = [&](const char* name) {
    return owner.register_parameter(name, at::empty({site.heads}, options)).copy_(published);
  };
  const at::Tensor before = learned("slopes");
  return {before, site.causal ? before : learned("slopes_behind"), true};
}

DistanceTable alibi_table(const AlibiSlopes& slopes, std::int64_t reach, const at::TensorOptions& options) {
  const at::Tensor distances = at::arange(-reach, reach + 1, options);
  const auto wide = [&](const at::Tensor& each) { return each.to(options).unsqueeze(-1); };  // [H, 1]
  return {wide(slopes.behind) * distances.clamp_max(0) - wide(slopes.before) * distances.clamp_min(0), reach};
}

}  // namespace weft::attention
