// SPDX-License-Identifier: Apache-2.0
// What every tokeniser can do. Text is UTF-8 bytes; ids are dense from 0. A native model directory holds either nothing
// (bytes) or the tokeniser's own file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft::text {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual std::vector<std::int64_t> encode(std::string_view text) const = 0;
  /// The text of `ids`; an id outside the vocabulary is a kArgument error.
  virtual std::string decode(const std::vector<std::int64_t>& ids) const = 0;
  virtual std::int64_t vocabulary_size() const = 0;
  /// "bytes" or "sentencepiece", as config.json names it in `tokenizer_class`.
  virtual std::string kind() const = 0;
  /// Writes the tokeniser's files into a model directory (nothing for bytes).
  virtual void save(const std::filesystem::path& directory) const = 0;
};

/// The 256 bytes, id = byte value.
std::unique_ptr<Tokenizer> make_byte_tokenizer();

/// A SentencePiece `.model` file. Errors: kIo, kFormat.
std::unique_ptr<Tokenizer> load_sentencepiece(const std::filesystem::path& model_file);

/// The tokeniser of a native model directory: tokenizer.model when it is there, else bytes.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& directory);

}  // namespace weft::text
