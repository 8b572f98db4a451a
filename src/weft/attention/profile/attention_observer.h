// SPDX-License-Identifier: Apache-2.0
// Who watches the attention of a pass: a profile sums what it sees, a viewer keeps it.
#pragma once

#include <string>

#include "weft/attention/context.h"
#include "weft/attention/mechanisms/spec.h"
#include "weft/attention/profile/attention_mass.h"

namespace weft::attention {

/// What one layer's call was made of.
struct ObservedCall {
  const MechanismSite& site;  ///< the layer, and whether it is self- or cross-attention
  const MassCall& call;       ///< all three live as long as the call
  const MechanismSpec& spec;
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

class AttentionImpl;

/// Shows `call` to whoever watches, if anybody does. Completes it: the scale 1 / sqrt(head_dim), and for self-attention
/// the padded queries, which are the padded keys.
void show_call(const AttentionImpl& mechanism, const AttentionContext& context, MassCall call);

/// Why an observer sees nothing of such a mechanism; empty: it sees all.
std::string why_not_observed(const MechanismSpec& spec);

}  // namespace weft::attention
