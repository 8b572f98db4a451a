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
  const bool has_ramps = spec.heads == 0;  // of spans that are learned; fixed ones list a reach for each head
  if (spec.name == "span" && spec.brings_positions && has_ramps) {
    return "span(positions=shared) has a table of distances and products with distances, and a profile knows one of "
           "them";
  }
  if (spec.pattern || spec.name == "relative" || spec.name == "span") {
    return {};
  }
  if (spec.latents > 0) {
    return spec.name + " also attends to latents, which are no places of the text";
  }
  if (spec.companions) {
    return spec.name + " also attends to global tokens, which are no places of the text";
  }
  return spec.name == "lsh" ? "lsh chooses its edges anew in every call"
                            : spec.name + " has no softmax over edges, whose probabilities could be summed";
}

}  // namespace weft::attention
