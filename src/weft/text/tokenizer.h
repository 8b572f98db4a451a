// SPDX-License-Identifier: Apache-2.0
// What every tokeniser can do. Text is UTF-8 bytes; ids are dense from 0. A model directory holds either nothing
// (bytes) or the tokeniser's own files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/disk/model_file.h"
#include "weft/formats/config_json.h"

namespace weft::text {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual std::vector<std::int64_t> encode(std::string_view text) const = 0;
  /// The text of `ids`; an id outside the vocabulary is a kArgument error.
  virtual std::string decode(const std::vector<std::int64_t>& ids) const = 0;
  virtual std::int64_t vocabulary_size() const = 0;
  /// "bytes", "bytes+2", "sentencepiece" or "huggingface", as config.json names it in `tokenizer_class`.
  virtual std::string kind() const = 0;
  /// Writes the tokeniser's files into a model directory (nothing for bytes).
  virtual void save(const std::filesystem::path& directory) const = 0;
};

/// The 256 bytes, id = byte value + `first`. Ids below `first` (0 or 2) stand for no text: padding and masks of models
/// like google/reformer-enwik8.
std::unique_ptr<Tokenizer> make_byte_tokenizer(std::int64_t first = 0);

/// A SentencePiece `.model` file. Errors: kIo, kFormat.
std::unique_ptr<Tokenizer> load_sentencepiece(const FilePlace& model_file);

/// The tokeniser of a model directory: tokenizer.model, or the files of a Hugging Face one (hugging_face.h), else
/// bytes: from 2 on where its config.json says so (`tokenizer_class` "bytes+2", or `model_type` "reformer"). Both at
/// once are a kFormat error.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& directory);
/// The same for whoever has read the directory's config.json, an object.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& directory, const formats::Json& config);

/// For each id the text that it adds behind another token; of a token that changes the one before it, nothing. Errors:
/// kFormat for more than 2^24 ids.
std::vector<std::string> texts_behind(const Tokenizer& tokenizer);

/// For each id whether it begins a word: its text behind another token begins with white space, or follows it. Errors:
/// kFormat for more than 2^24 ids.
std::vector<bool> word_beginnings(const Tokenizer& tokenizer);

}  // namespace weft::text
