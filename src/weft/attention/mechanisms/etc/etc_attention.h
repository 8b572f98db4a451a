// SPDX-License-Identifier: Apache-2.0
// ETC's attention, which configs call `global_local(...)`: that of an encoder whose companions are global tokens
// (etc_rows.h has the equations). The pattern `etc(...)` is another attention, without companions.
#pragma once

#include <string>

#include "weft/attention/mechanism.h"
#include "weft/attention/mechanisms/etc/etc_rows.h"

namespace weft::attention {

/// `global_local(radius=84, distance=12, hard=none)`, all optional; hard edges are none, g2l (from global to long), l2g
/// or both. Errors: kExpression.
MechanismSpec parse_etc(const std::string& expression);

/// Queries, keys and values of a call begin with those of the global tokens (AttentionContext::companions); what
/// is known of them is an EtcStructure (AttentionContext::structure); padding of the text is that of the context. Label
/// tables are learned: `labels` and `label_bias` for long rows, `global_labels` and `global_label_bias` for global
/// rows. E begins as normal(0, 0.5), as published, b as zeros.
class EtcAttention : public AttentionImpl {
 public:
  EtcAttention(MechanismSpec spec, const MechanismSite& site, const at::TensorOptions& options);

  /// query [B, H, G + N, D]; key and value [B, H_kv, G + N, D]. Padding is seen by nobody, whatever it holds, and its
  /// rows are zeros; so are rows without an edge. Sums are in float32 for half types. Errors: kArgument where there are
  /// no global tokens, and for a structure of other shapes.
  at::Tensor forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionContext& context) override;

 private:
  EtcShape shape_;
  at::Tensor labels_;      // [labels, H, D]
  at::Tensor label_bias_;  // [labels, H]
  at::Tensor global_labels_;
  at::Tensor global_label_bias_;
};

}  // namespace weft::attention
