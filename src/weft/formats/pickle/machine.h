// SPDX-License-Identifier: Apache-2.0
// Python's pickle format, protocols 2 to 5, as far as state dicts need it. A pickle is a program; this machine knows
// only the instructions that build data, refuses every other one by name, and writes calls down without making them.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/formats/pickle/value.h"

namespace weft::formats {

/// The longest pickle that is read, in bytes, and the most values it may have: those of a hundred thousand tensors.
inline constexpr std::uint64_t kLargestPickle = std::uint64_t{32} << 20;
inline constexpr std::size_t kMostPickleValues = std::size_t{2} << 20;

/// Reads the pickle at the start of `bytes`, into which the result points. Errors: kFormat naming `where`, the byte and
/// the rule: instructions and names beyond the allow-list, a stack that does not hold what an instruction takes, a
/// pickle without an end.
PickleValues read_pickle(std::string_view bytes, std::string_view where);

}  // namespace weft::formats
