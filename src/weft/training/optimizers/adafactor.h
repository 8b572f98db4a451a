// SPDX-License-Identifier: Apache-2.0
// Adafactor (Shazeer and Stern 2018, algorithms 4 and 5) without a first moment: of a matrix's squared gradients only
// the means of rows and columns are kept, so that the state is a few vectors.
#pragma once

#include <vector>

#include "weft/training/optimizers/optimizer.h"

namespace weft::training {

/// The paper's constants, as transformers names them.
struct AdafactorOptions {
  double gradient_epsilon = 1e-30;  ///< eps[0], added to squared gradients
  double parameter_epsilon = 1e-3;  ///< eps[1], the least size of a parameter where steps are relative to it
  double clip_threshold = 1.0;      ///< largest root mean square of an update
  double decay_rate = -0.8;         ///< b2 in update t is 1 - t^decay_rate
  bool scale_by_parameter = false;  ///< the rate is times the root mean square of the parameter
};

/// R, C: means of g^2 + epsilon over columns and rows, decayed; u = g / sqrt(R C / mean(R)), divided by max(1, rms(u) /
/// clip_threshold); w -= rate (u + decay w). Tensors of fewer than two dimensions keep all of g^2. Keeps
/// square_row and square_column, or square.
class Adafactor final : public Optimizer {
 public:
  Adafactor(const std::vector<ParameterGroup>& groups, const AdafactorOptions& options);

 protected:
  void update(const Part& part) override;

 private:
  void update(const Slot& slot, const Part& part) const;
  void move_on_device(const Slot& slot, const Part& part, at::Tensor& update) const;

  AdafactorOptions options_;
};

}  // namespace weft::training
