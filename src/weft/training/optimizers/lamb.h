// SPDX-License-Identifier: Apache-2.0
// LAMB (You et al. 2020, "Large batch optimization for deep learning", algorithm 2): AdamW's direction, its length set
// by the parameter's own.
#pragma once

#include <vector>

#include "weft/training/optimizers/adamw.h"

namespace weft::training {

/// With m' and v' as in AdamW: u = m' / (sqrt(v') + epsilon) + decay w, w -= rate |w| / |u| u, for each parameter
/// tensor; the ratio is 1 where a norm is 0. Keeps first_moment and second_moment.
class Lamb final : public Optimizer {
 public:
  Lamb(const std::vector<ParameterGroup>& groups, const AdamOptions& options);

 protected:
  void update(const Part& part) override;

 private:
  void update(const Slot& slot, const Part& part) const;

  AdamOptions options_;
};

}  // namespace weft::training
