// SPDX-License-Identifier: Apache-2.0
// Tokens of large texts, kept on disk from run to run. An entry is found by a digest of the text, of the tokeniser's
// files and of the version of Weft, and is checked by another digest before it is used. Losing an entry costs time
// only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "weft/core/descriptor.h"
#include "weft/data/text_corpus.h"
#include "weft/formats/sha256.h"
#include "weft/text/tokenizer.h"

namespace weft::data {

/// Ids in a file, four bytes each, the lowest first.
struct StoredTokens {
  Descriptor file;
  std::uint64_t offset = 0;  ///< of the first id
  std::int64_t size = 0;     ///< ids
};

/// What names the tokens of `corpus` under `tokenizer`; nothing where the tokeniser has no files to tell it by, or
/// draws at random (a tokenizer.json with `dropout`). Reads the whole text.
std::optional<formats::Digest> token_key(const TextCorpus& corpus, const text::Tokenizer& tokenizer);

/// A folder with a file for each text that was tokenised. Several processes may use it at once.
class TokenCache {
 public:
  /// `most_bytes` bounds the files of the cache together.
  TokenCache(std::filesystem::path directory, std::uint64_t most_bytes);
  /// tokens/ in weft::cache_directory(), at most WEFT_CACHE_GB (10) gigabytes; nothing where that is 0 or there is no
  /// such directory. Errors: kArgument for a WEFT_CACHE_GB that is no number.
  static std::optional<TokenCache> of_environment();

  /// The tokens of a key, whole and below `vocabulary`, or nothing. A damaged entry is removed with a warning.
  std::optional<StoredTokens> find(const formats::Digest& key, std::int64_t vocabulary) const;
  /// Keeps `tokens`, whose bytes have the digest `content`, and removes the entries that were not used for longest
  /// where the bound asks for it. What goes wrong is a warning: the run goes on without a cache.
  void keep(const formats::Digest& key, const StoredTokens& tokens, const formats::Digest& content) const;

  const std::filesystem::path& directory() const noexcept { return directory_; }

 private:
  std::filesystem::path path_of(const formats::Digest& key) const;
  void make_room(std::uint64_t bytes) const;

  std::filesystem::path directory_;
  std::uint64_t most_bytes_;
};

}  // namespace weft::data
