// SPDX-License-Identifier: Apache-2.0
// Base64 by groups of three bytes; compression in one call of zlib.
#include "weft/formats/packed_text.h"

#include <cstdint>

#include <zlib.h>

#include "weft/core/error.h"

namespace weft::formats {

std::string base64(std::string_view bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = i; j < i + 3; ++j) {
      group = (group << 8) | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0U);
    }
    for (std::size_t letter = 0; letter < 4; ++letter) {
      text += i + letter > bytes.size() ? '=' : kLetters[(group >> (18 - 6 * letter)) & 63U];
    }
  }
  return text;
}

std::string zlib_compressed(std::string_view bytes) {
  uLongf size = compressBound(bytes.size());
  std::string result(size, '\0');
  const int status = compress2(reinterpret_cast<Bytef*>(result.data()), &size,
                               reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), Z_BEST_SPEED);
  require(status == Z_OK, "zlib cannot compress ", bytes.size(), " bytes: status ", status);
  result.resize(size);
  return result;
}

}  // namespace weft::formats
