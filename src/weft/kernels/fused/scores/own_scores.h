// SPDX-License-Identifier: Apache-2.0
// Scores of keys at the query's own position, on a panel: kOwnScore takes their place before the softmax, and a
// constant has no gradient. Most blocks have none, and most keys of the others one lane.
#pragma once

#include <cstdint>

#include "weft/kernels/fused/panels.h"
#include "weft/kernels/fused/scores/block_mask.h"

namespace weft::kernels {

/// Calls work(vector of numbers[key][kPanel], lanes) where some lanes of a key are at its position.
template <class Isa, typename Work>
[[gnu::always_inline]] inline void each_own(const BlockMask<Isa>& mask, const Panel& panel, float* numbers,
                                            const Work& work) noexcept {
  for (std::int64_t key = panel.range.begin; key < panel.range.end && mask.has_own(); ++key) {
    const std::uint64_t own = mask.own(key) >> panel.query;
    for (std::int64_t lane = 0; lane < panel.vectors * Isa::kLanes && own != 0; lane += Isa::kLanes) {
      work(numbers + key * kPanel + lane, Isa::lanes_of(own >> lane));
    }
  }
}

/// own_score() of scores[key][kPanel].
template <class Isa>
void replace_own_scores(const BlockMask<Isa>& mask, const Panel& panel, float* scores) noexcept {
  each_own<Isa>(mask, panel, scores, [](float* at, auto lanes) {
    const auto score = Isa::load(at);
    const auto replaced = Isa::multiply_add(score, Isa::zero(), Isa::set(kOwnScore));
    Isa::store(at, Isa::select(lanes, replaced, score));
  });
}

/// Zeros in gradients[key][kPanel] of those scores.
template <class Isa>
void silence_own_scores(const BlockMask<Isa>& mask, const Panel& panel, float* gradients) noexcept {
  each_own<Isa>(mask, panel, gradients,
                [](float* at, auto lanes) { Isa::store(at, Isa::select(lanes, Isa::zero(), Isa::load(at))); });
}

}  // namespace weft::kernels
