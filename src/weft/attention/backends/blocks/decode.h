// SPDX-License-Identifier: Apache-2.0
// One query token against a long cache of keys: reads the keys of its edges and no others. The general loops flatten
// and pad whole tensors first, which would cost a token as much as the cache is long.
#pragma once

#include <optional>

#include "weft/attention/backends/answer.h"
#include "weft/attention/backends/blocks/products.h"
#include "weft/attention/call.h"

namespace weft::attention {

/// Whether the call is one query token a row, without dropout, and nobody asks for its gradient.
bool is_decoding(const Call& call);

/// Yes, but for row positions and a relative term.
Answer edges_take(const Call& call);

/// What multiplies single query rows, and the dtype that it is given for queries of a dtype.
struct DecodeProducts {
  at::ScalarType (*dtype)(const at::Tensor& query);
  PieceForward (*forward)(const PieceInputs& inputs);
};

/// The results of a call that is_decoding(), over the keys of its edges; nothing where a number is not finite. Key and
/// value may hold anything where they are padded.
std::optional<Forward> decode_by(const DecodeProducts& products, const Call& call);

}  // namespace weft::attention
