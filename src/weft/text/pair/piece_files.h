// SPDX-License-Identifier: Apache-2.0
// The files of Marian's, Pegasus' and M2M100's tokenisers, read into the two sides of a pair.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "weft/text/hugging_face/settings.h"
#include "weft/text/pair/piece_tokenizer.h"

namespace weft::text {

struct PieceSides {
  std::shared_ptr<const PieceTokenizer> source = {};
  std::shared_ptr<const PieceTokenizer> target = {};  ///< the same object for Pegasus and M2M100
  std::int64_t end = 0;                               ///< the token behind every text
  TokenizerSettings settings = {};
  bool shared = true;                            ///< one table for both sides
  std::vector<std::string> language_codes = {};  ///< sorted
  std::string source_language = {};              ///< as the settings name it
  std::string target_language = {};
};

/// Whether `directory` has source.spm.
bool is_marian(const std::filesystem::path& directory);
/// Whether `directory` has the files of an M2M100Tokenizer: pieces, a table, and no tokenizer.json.
bool is_m2m_100(const std::filesystem::path& directory);
/// Whether it has spiece.model and no tokenizer.json, and its tokeniser class or else its model type is Pegasus'.
bool is_pegasus(const std::filesystem::path& directory);

/// source.spm, target.spm, vocab.json and, where tokenizer_config.json says separate_vocabs, target_vocab.json. Errors:
/// kIo, kFormat naming the file; kFormat where the vocabulary belongs to another model.
PieceSides read_marian(const std::filesystem::path& directory);
/// spiece.model of Pegasus (the family's own tokens come before its pieces) or of BigBird-Pegasus (they are in it).
PieceSides read_pegasus(const std::filesystem::path& directory);
/// sentencepiece.bpe.model and vocab.json of M2M100.
PieceSides read_m2m_100(const std::filesystem::path& directory);

}  // namespace weft::text
