// SPDX-License-Identifier: Apache-2.0
// Linformer (Wang et al. 2020): learned sums over positions make a few rows of all keys and values, and queries see
// those, so that time and memory grow with the length.
#pragma once

#include <string>

#include "weft/attention/attention.h"
#include "weft/attention/mechanism.h"

namespace weft::attention {

/// `linformer(rank=256, share=heads|none|keys|layers, init=fairseq|lucidrains)`, all optional. `rank`: the rows that
/// queries see. `share` (section 4, each with those before it): `none`, every head has matrices of its own; `heads`, a
/// layer has one for keys and one for values; `keys`, one for both; `layers`, the one of layer 0 for all layers.
/// `init`: uniform up to sqrt(3 / (N + rank)) or up to 1 / sqrt(rank), as those programs draw. Errors: kExpression.
MechanismSpec parse_linformer(const std::string& expression);

/// output = softmax(Q (E K)^T / sqrt(D)) F V (equation 7), E and F [rank, N] for the model's longest text N; a shorter
/// one of n tokens takes their first n columns, and padded tokens count nothing, so that padding changes no result. K
/// and V are the layer's projections, bias included, as in the equation and lucidrains' program; fairseq's sums the
/// inputs first and adds the bias behind, the same where projections have no bias. Learned: `key_projection` and
/// `value_projection` [heads or 1, rank, N]; with share=keys or layers the first alone. Dropout is on the probabilities
/// of the `rank` rows. Sums are in float32 (float64 for float64). Errors: kArgument for a text longer than N.
class LinformerAttention : public AttentionImpl {
 public:
  LinformerAttention(MechanismSpec spec, const MechanismSite& site, const at::TensorOptions& options);

  at::Tensor forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionContext& context) override;

  /// Takes E of layer 0, where share=layers.
  void share(AttentionImpl& first) override;
  std::vector<at::Tensor> shared_parameters() const override;

 private:
  bool shares_layers_ = false;
  at::Tensor key_projection_;
  at::Tensor value_projection_;  // undefined: that of the keys
};

}  // namespace weft::attention
