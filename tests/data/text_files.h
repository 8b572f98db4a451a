// SPDX-License-Identifier: Apache-2.0
// Text files and a tokeniser for tests of data and training.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/random.h"
#include "weft/text/tokenizer.h"

namespace weft::test {

/// Writes a file and the folders above it.
inline void write_text(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

/// Words of one to eight letters, a pure function of the arguments.
inline std::string random_text(std::size_t bytes, std::uint64_t seed) {
  std::string text;
  for (std::uint64_t word = 0; text.size() < bytes; ++word) {
    const std::uint64_t bits = random_bits(seed, word % 97);
    for (std::uint64_t letter = 0; letter <= bits % 8; ++letter) {
      text += static_cast<char>('a' + (bits >> (8 + 5 * letter)) % 26);
    }
    text += word % 11 == 10 ? '\n' : ' ';
  }
  text.resize(bytes);
  return text;
}

/// Two bytes a token, id = high * 256 + low; a last odd byte is a token of its own, 65536 + byte.
class PairTokenizer final : public text::Tokenizer {
 public:
  std::vector<std::int64_t> encode(std::string_view text) const override {
    std::vector<std::int64_t> ids;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
      ids.push_back(static_cast<unsigned char>(text[i]) * 256 + static_cast<unsigned char>(text[i + 1]));
    }
    if (text.size() % 2 == 1) {
      ids.push_back(65536 + static_cast<unsigned char>(text.back()));
    }
    return ids;
  }
  std::string decode(const std::vector<std::int64_t>& ids) const override {
    std::string text;
    for (const std::int64_t id : ids) {
      if (id < 65536) {
        text += static_cast<char>(id / 256);
      }
      text += static_cast<char>(id % 256);
    }
    return text;
  }
  std::int64_t vocabulary_size() const override { return 65536 + 256; }
  std::string kind() const override { return "sentencepiece"; }
  void save(const std::filesystem::path&) const override {}
};

}  // namespace weft::test
