// SPDX-License-Identifier: Apache-2.0
// Seeds from one seed.
#include "weft/layers/dropout.h"

#include "weft/core/random.h"

namespace weft::layers {

std::uint64_t dropout_seed(std::uint64_t call_seed, std::int64_t layer, std::int64_t site) {
  return random_bits(call_seed, static_cast<std::uint64_t>(layer), static_cast<std::uint64_t>(site));
}

}  // namespace weft::layers
