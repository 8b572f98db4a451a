// SPDX-License-Identifier: Apache-2.0
// What the tokeniser of a Hugging Face directory may consist of, and how it comes along to another one.
#pragma once

#include <array>
#include <filesystem>

#include "weft/core/files.h"

namespace weft::checkpoint {

/// The files that text::HuggingFaceTokenizer reads.
inline constexpr std::array kHuggingFaceTokenizerFiles{
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
    "spm.model",
};

/// Writes the file `name` of the directory `from` into the directory `to`, under the name `as` where that is given;
/// nothing where `from` has none. Errors: kIo; kFormat for a link that leaves `from`.
inline void copy_if_there(const std::filesystem::path& from, const char* name, const std::filesystem::path& to,
                          const char* as = nullptr) {
  if (const ModelFile file(from, name); file.exists()) {
    write_file_atomically(to / (as == nullptr ? name : as), read_file(file));
  }
}

}  // namespace weft::checkpoint
