// SPDX-License-Identifier: Apache-2.0
// What a model of the Compressive Transformer (Rae et al. 2020) does between segments: rows that are too old for the
// memory are compressed, and the compressed ones are a memory of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/layers/decoding_state.h"
#include "weft/layers/memory/segment_memory.h"
#include "weft/models/stack/stack.h"

namespace weft::models {

/// How much is remembered. At the end of each segment the tokens beyond `most` leave the memory, as many of them as the
/// rate divides.
struct CompressiveSizes {
  std::int64_t most = 0;        ///< tokens
  std::int64_t segment = 0;     ///< tokens; of a text that comes token by token, too
  std::int64_t compressed = 0;  ///< compressed rows
  std::int64_t rate = 1;        ///< tokens that become a row

  /// Tokens that leave a memory of `held` ones.
  std::int64_t leaving(std::int64_t held) const;
};

/// Takes the inputs [B, N, hidden] of all layers in, the end of a segment, and compresses what leaves. Returns the sum
/// over the layers of their attention-reconstruction losses, with the inputs as queries, where gradients are recorded
/// and compressors learn; undefined otherwise.
at::Tensor take_in(const StackImpl& stack, layers::SegmentMemory& memory, const std::vector<at::Tensor>& inputs,
                   const CompressiveSizes& sizes);

/// Makes `state` hold keys and values of the rows of its memory, in their order.
void refill(const StackImpl& stack, layers::DecodingState& state);

}  // namespace weft::models
