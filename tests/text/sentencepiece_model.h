// SPDX-License-Identifier: Apache-2.0
// Small SentencePiece models written by hand as protobufs, sound and otherwise.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/text/sentencepiece/model.h"

namespace weft::text {

inline std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) {
    text += static_cast<char>(value | 0x80);
  }
  return text + static_cast<char>(value);
}

inline std::string bytes_field(int number, std::string_view bytes) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}

inline std::string varint_field(int number, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(number) << 3) + varint(value);
}

inline std::string fixed32(std::uint32_t value) {
  std::string text;
  for (int shift = 0; shift < 32; shift += 8) {
    text += static_cast<char>(value >> shift);
  }
  return text;
}

/// ModelProto.pieces: a piece with its score and type.
inline std::string piece(std::string_view text, float score, PieceType type = PieceType::kNormal) {
  return bytes_field(1, bytes_field(1, text) + varint(2 << 3 | 5) + fixed32(std::bit_cast<std::uint32_t>(score)) +
                            varint_field(3, static_cast<std::uint64_t>(type)));
}

/// TrainerSpec (unigram, byte_fallback) and NormalizerSpec (with `character_map`).
inline std::string settings(bool byte_fallback, std::string_view character_map = {}) {
  const std::string trainer = varint_field(3, 1) + varint_field(35, byte_fallback ? 1 : 0);
  const std::string normalizer = bytes_field(1, "identity") + bytes_field(2, character_map);
  return bytes_field(2, trainer) + bytes_field(3, normalizer);
}

/// <unk> <s> </s>, some words and letters, then the 256 bytes.
inline std::string small_model() {
  std::string model = piece("<unk>", 0, PieceType::kUnknown) + piece("<s>", 0, PieceType::kControl) +
                      piece("</s>", 0, PieceType::kControl);
  float score = -1;
  for (const char* text :
       {"\xE2\x96\x81hello", "\xE2\x96\x81world", "lo", "\xE2\x96\x81", "h", "e", "l", "o", "w", "r", "d", "é", "."}) {
    model += piece(text, score -= 0.5F);
  }
  constexpr char kHex[] = "0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte) {
    model += piece(std::string("<0x") + kHex[byte >> 4] + kHex[byte & 15] + ">", -20, PieceType::kByte);
  }
  return model + settings(true);
}

}  // namespace weft::text
