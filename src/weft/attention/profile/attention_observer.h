// SPDX-License-Identifier: Apache-2.0
// Who watches the attention of a pass: a profile sums what it sees, a viewer keeps it.
#pragma once

#include "weft/attention/mechanisms/spec.h"
#include "weft/attention/profile/attention_mass.h"

namespace weft::attention {

/// What one layer's call was made of.
struct ObservedCall {
  const MechanismSite& site;  ///< the layer, and whether it is self- or cross-attention
  const MassCall& call;       ///< both live as long as the call
};

class AttentionObserver {
 public:
  AttentionObserver() = default;
  AttentionObserver(const AttentionObserver&) = delete;
  AttentionObserver& operator=(const AttentionObserver&) = delete;
  virtual ~AttentionObserver() = default;

  /// A mechanism calls it once for each call with a softmax over edges, before or after it computed.
  virtual void observe(const ObservedCall& seen) = 0;
};

}  // namespace weft::attention
