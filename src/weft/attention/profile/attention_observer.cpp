// SPDX-License-Identifier: Apache-2.0
// What a mechanism need not say of its call, and which mechanisms have something to show.
#include "weft/attention/profile/attention_observer.h"

#include <cmath>
#include <utility>

#include "weft/attention/mechanism.h"

namespace weft::attention {

void show_call(const AttentionImpl& mechanism, const AttentionContext& context, MassCall call) {
  if (context.observer == nullptr) {
    return;
  }
  call.scale = 1.0 / std::sqrt(static_cast<double>(call.query.size(3)));
  const std::int64_t end = context.query_offset + call.query.size(2);
  if (!call.query_keep.defined() && !mechanism.site().cross && call.key_keep.defined() &&
      call.key_keep.size(1) >= end) {
    call.query_keep = call.key_keep.narrow(1, context.query_offset, call.query.size(2));
  }
  context.observer->observe({mechanism.site(), call, mechanism.spec()});
}

std::string why_not_observed(const MechanismSpec& spec) {
  return spec.not_observed.value_or(spec.name + " has no softmax over edges, whose probabilities could be summed");
}

}  // namespace weft::attention
