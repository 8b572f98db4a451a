// SPDX-License-Identifier: Apache-2.0
// Seeds from one seed.
#include "weft/layers/dropout.h"

namespace weft::layers {

DropoutSeed dropout_seed(const DropoutSeed& call_seed, std::int64_t layer, std::int64_t site) {
  return call_seed.derived(static_cast<std::uint64_t>(layer), static_cast<std::uint64_t>(site));
}

}  // namespace weft::layers
