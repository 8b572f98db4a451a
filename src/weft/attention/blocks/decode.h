// SPDX-License-Identifier: Apache-2.0
// One query token against a long cache of keys: reads the keys of its edges and no others. The general loops flatten
// and pad whole tensors first, which would cost a token as much as the cache is long.
#pragma once

#include <optional>

#include "weft/attention/attention.h"
#include "weft/attention/call.h"

namespace weft::attention {

/// Whether the call is one query token a row, without dropout, and nobody asks for its gradient.
bool is_decoding(const Call& call);

/// The results of such a call; nothing where LibTorch's products met a key that is not finite, which the general loops
/// take care of. `call.key` and `call.value` may still hold anything where they are padded.
std::optional<Forward> decode_forward(const Call& call);

}  // namespace weft::attention
