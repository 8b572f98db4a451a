// SPDX-License-Identifier: Apache-2.0
// What must hold of a SentencePiece model file before anything walks through the indices in it.
#pragma once

#include <string_view>

namespace weft::text {

/// Longest piece that is accepted, in bytes; released vocabularies stay below 200.
inline constexpr std::size_t kLongestPiece = 16384;

/// Checks a serialised ModelProto: it is a protobuf, has pieces of sane lengths and finite scores, byte pieces are
/// `<0x00>` to `<0xFF>`, and the double array of its character map stays within itself. Errors: kFormat naming `where`
/// and the rule.
void check_sentencepiece_model(std::string_view model, std::string_view where);

}  // namespace weft::text
