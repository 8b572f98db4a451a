// SPDX-License-Identifier: Apache-2.0
// A random order of [0, count) without a list: a Feistel network over the next power of four, walked until it lands
// inside (Black and Rogaway 2002, "Ciphers with arbitrary finite domains").
#pragma once

#include <cstdint>

namespace weft::data {

/// Where `index` goes in the order that `key` names: a bijection of [0, count). Errors: kArgument unless index < count,
/// as the walk would never end.
std::uint64_t permuted(std::uint64_t index, std::uint64_t count, std::uint64_t key);

}  // namespace weft::data
