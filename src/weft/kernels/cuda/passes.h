// SPDX-License-Identifier: Apache-2.0
// The order of the passes of a call. passes/ has each of them as a type: how many thread blocks it has, how much shared
// memory each needs, and what one of them does. Whoever launches them, on a GPU or in a test, takes them in the order
// of run_forward(), run_decode() and run_backward(): each sees all that those before it wrote.
#pragma once

#include <cstdint>

#include "weft/kernels/cuda/passes/forward_walk.h"
#include "weft/kernels/cuda/passes/gradient_walks.h"
#include "weft/kernels/cuda/passes/joins.h"
#include "weft/kernels/cuda/passes/keep.h"
#include "weft/kernels/cuda/passes/sums.h"

namespace weft::kernels::cuda {

/// Whether scores are more than products: distances, positions, log multiplicities. Where nothing is added to scores
/// they are scaled by a positive number when their greatest is known.
inline bool has_score_terms(const DeviceCall& call) {
  return !(call.attention.scale > 0) || call.attention.distances.scores != nullptr || has_positions(call.attention) ||
         call.has_weights;
}
/// Whether kernels must look at more than bits: these, or dropout.
inline bool has_terms(const DeviceCall& call) { return has_score_terms(call) || call.draws.is_on; }

template <typename Launcher>
void make_keep_words(Launcher& launcher, const DeviceCall& call) {
  if (call.keep_words != nullptr) {
    launcher.template launch<KeepPass>(call);
  }
}

/// The call as both kernels of a walk have it, so that their thread blocks are the same.
template <typename Walk>
DeviceCall ordered_for(const DeviceCall& call) {
  DeviceCall ordered = call;
  if constexpr (!Walk::kMayGoAhead) {
    ordered.rows.long_items = 0;
    ordered.columns.long_items = 0;
  }
  return ordered;
}

/// A walk, hot and then carefully. `General` is the walk with terms.
template <typename Walk, typename General, typename Launcher>
void run_walk(Launcher& launcher, const DeviceCall& call) {
  const DeviceCall ordered = ordered_for<Walk>(call);
  launcher.template launch<HotPass<Walk>>(ordered);
  launcher.template launch<CarefulPass<General>>(ordered);
}

template <typename Format, typename Launcher>
bool goes_plainly(const Launcher& launcher, const DeviceCall& call) {
  if constexpr (kIsHalf<Format>) {
    return launcher.has_slice_products() && is_plain<Format>(call);
  }
  return false;
}
template <typename Format, typename General, bool kIsPlain, bool kHasDraws, typename Launcher>
void run_walk_ahead(Launcher& launcher, const DeviceCall& call) {
  if constexpr (kIsHalf<Format>) {
    run_walk<ForwardWalk<Format, kForwardSlices<Format>, false, kIsPlain, kHasDraws>, General>(launcher, call);
  }
}

/// launcher.template launch<Pass>(call) runs all thread blocks of a pass, one pass behind the other.
template <typename Format, typename Launcher>
void run_forward(Launcher& launcher, const DeviceCall& call) {
  constexpr int kSlices = kForwardSlices<Format>;
  using General = ForwardWalk<ExactFormat<Format>, kSlices, true>;
  make_keep_words(launcher, call);
  const bool is_plain_here = goes_plainly<Format>(launcher, call);
  if (kIsHalf<Format> && launcher.has_slice_products() && call.draws.is_on && !has_score_terms(call)) {
    if (is_plain_here) {
      run_walk_ahead<Format, General, true, true>(launcher, call);
    } else {
      run_walk_ahead<Format, General, false, true>(launcher, call);
    }
  } else if (has_terms(call)) {
    run_walk<ForwardWalk<Format, kSlices, true>, General>(launcher, call);
  } else if (is_plain_here) {
    run_walk_ahead<Format, General, true, false>(launcher, call);
  } else {
    run_walk<ForwardWalk<Format, kSlices, false>, General>(launcher, call);
  }
  if (call.rows.most_joins > 0) {
    launcher.template launch<JoinForwardPass<ExactFormat<Format>>>(call);
  }
}

/// The same of calls whose blocks have one query, in parts of at most kLongestDecodePart blocks, without dropout.
template <typename Format, typename Launcher>
void run_decode(Launcher& launcher, const DeviceCall& call) {
  make_keep_words(launcher, call);
  launcher.template launch<DecodePass<ExactFormat<Format>>>(call);
  if (call.rows.most_joins > 0) {
    launcher.template launch<JoinForwardPass<ExactFormat<Format>>>(call);
  }
}

/// Both walks, then both carefully, with their flags one behind the other, then all joins: few passes, each of which
/// waits for the one before.
template <typename Format, bool kHasTerms, bool kIsNarrow, bool kIsPlain, typename Launcher>
void run_gradients(Launcher& launcher, const DeviceCall& call) {
  using Exact = ExactFormat<Format>;
  using Queries = QueryGradientWalk<Format, kHasTerms, false, kIsNarrow, kIsPlain>;
  using Keys = KeyGradientWalk<Format, kHasTerms, kIsNarrow, kIsPlain>;
  launcher.template launch<DeltaPass<Exact>>(call);
  const DeviceCall ordered = ordered_for<Queries>(call);
  DeviceCall of_keys = ordered;
  of_keys.lost += flags_of<Queries>(call);
  launcher.template launch<HotPass<Queries>>(ordered);
  launcher.template launch<HotPass<Keys>>(of_keys);
  launcher.template launch<CarefulPass<QueryGradientWalk<Exact, true, false>, KeyGradientWalk<Exact, true>>>(ordered);
  launcher.template launch<JoinGradientsPass<Exact>>(call);
  if (call.gradients.distance_gradient != nullptr) {
    run_walk<QueryGradientWalk<Format, true, true>, QueryGradientWalk<Exact, true, true>>(launcher, call);
    launcher.template launch<JoinTablePass<Exact>>(call);
  }
}

template <typename Format, typename Launcher>
void run_backward(Launcher& launcher, const DeviceCall& call) {
  make_keep_words(launcher, call);
  constexpr bool kMayBeNarrow = kIsHalf<Format>;
  const bool is_narrow =
      kMayBeNarrow && launcher.has_slice_products() && has_narrow_heads<Format>(call) && !has_score_terms(call);
  if (is_narrow && call.draws.is_on) {
    run_gradients<Format, true, kMayBeNarrow, false>(launcher, call);
  } else if (is_narrow && is_plain<Format>(call)) {
    run_gradients<Format, false, kMayBeNarrow, kMayBeNarrow>(launcher, call);
  } else if (is_narrow) {
    run_gradients<Format, false, kMayBeNarrow, false>(launcher, call);
  } else if (has_terms(call)) {
    run_gradients<Format, true, false, false>(launcher, call);
  } else {
    run_gradients<Format, false, false, false>(launcher, call);
  }
}

}  // namespace weft::kernels::cuda
