// SPDX-License-Identifier: Apache-2.0
// A corpus as token ids that can be read at any position. Bytes are read straight from the text; other vocabularies are
// encoded once into a scratch file of 32-bit ids, so that memory does not grow with the corpus.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "weft/core/descriptor.h"
#include "weft/data/text_corpus.h"
#include "weft/data/token_cache.h"
#include "weft/text/tokenizer.h"

namespace weft::data {

/// Token ids 0 to size() - 1 of a text, readable from several threads at once.
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  /// Tokens in all.
  virtual std::int64_t size() const = 0;
  /// Writes the ids at [begin, begin + ids.size()). Errors: kArgument outside of [0, size()), kIo.
  virtual void read(std::int64_t begin, std::span<std::int64_t> ids) const = 0;
};

/// The corpus under `tokenizer`. Text is encoded a file at a time, in pieces of about a megabyte that end with a line,
/// and progress is shown. Bytes stay where they are and are read as they are needed: the corpus remembers its content.
/// With a cache, tokens of an earlier call are taken from there, and new ones are kept there. Errors: kIo, also when
/// the scratch file (in the system's folder for temporary files) does not fit.
std::shared_ptr<const TokenSource> tokenize(std::shared_ptr<const TextCorpus> corpus, const text::Tokenizer& tokenizer,
                                            const std::optional<TokenCache>& cache = std::nullopt);

/// tokenize() with the cache of the environment, for texts of a megabyte and more.
std::shared_ptr<const TokenSource> tokenize_once(std::shared_ptr<const TextCorpus> corpus,
                                                 const text::Tokenizer& tokenizer);

/// A number that tells two sources apart at once: their length and ids at 256 places. Checkpoints of all versions of
/// Weft have it.
std::uint64_t fingerprint(const TokenSource& source);

/// The digest (core/disk/digest.h) of every id of a source: the same text in other files has the same. Reads all of it,
/// by several threads; progress is shown. Errors: as read().
std::string content_digest(const TokenSource& source);

/// Warns on stderr when half of the tokens of a corpus or more are the unknown one, with the share. A corpus of more
/// than a million tokens is looked at in 256 places. `where` names the tokeniser, `what` the tokens: "of the text".
void warn_of_unknown_tokens(const TokenSource& source, const text::Tokenizer& tokenizer, const std::string& where,
                            const std::string& what);

}  // namespace weft::data
