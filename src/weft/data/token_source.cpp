// SPDX-License-Identifier: Apache-2.0
// Bytes as ids, and the scratch file of ids that a tokeniser made.
#include "weft/data/token_source.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/descriptor.h"
#include "weft/core/disk/digest.h"
#include "weft/core/disk/scratch_file.h"
#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/core/random.h"
#include "weft/text/unknown_tokens.h"

namespace weft::data {
namespace {

// Text that is encoded at once.
constexpr std::int64_t kPieceBytes = std::int64_t{1} << 20;

// A byte is its own id: nothing is stored beside the text.
class ByteTokens final : public TokenSource {
 public:
  explicit ByteTokens(std::shared_ptr<const TextCorpus> corpus) : corpus_(std::move(corpus)) {}
  std::int64_t size() const override { return corpus_->bytes(); }

  void read(std::int64_t begin, std::span<std::int64_t> ids) const override {
    std::vector<unsigned char> bytes(ids.size());
    corpus_->read(begin, static_cast<std::int64_t>(ids.size()), reinterpret_cast<char*>(bytes.data()));
    std::copy(bytes.begin(), bytes.end(), ids.begin());
  }

 private:
  std::shared_ptr<const TextCorpus> corpus_;
};

// What a tokeniser made of the text, 4 bytes an id in a file.
class EncodedTokens final : public TokenSource {
 public:
  explicit EncodedTokens(StoredTokens stored) : stored_(std::move(stored)) {}
  std::int64_t size() const override { return stored_.size; }

  void append(const std::vector<std::int64_t>& ids) {
    // No vocabulary has 2^31 entries.
    const std::vector<std::int32_t> narrow(ids.begin(), ids.end());
    write_scratch(stored_.file, narrow.data(), narrow.size() * sizeof(std::int32_t));
    digest_.add(narrow.data(), narrow.size() * sizeof(std::int32_t));
    stored_.size += static_cast<std::int64_t>(ids.size());
  }

  void read(std::int64_t begin, std::span<std::int64_t> ids) const override {
    const auto count = static_cast<std::int64_t>(ids.size());
    require(begin >= 0 && begin <= size() - count, "tokens ", begin, " to ", begin + count, " are not in a corpus of ",
            size(), " tokens");
    std::vector<std::int32_t> narrow(ids.size());
    const std::size_t bytes = narrow.size() * sizeof(std::int32_t);
    const std::uint64_t place = stored_.offset + static_cast<std::uint64_t>(begin) * sizeof(std::int32_t);
    if (stored_.file.read_at(place, narrow.data(), bytes) != bytes) {
      fail(ErrorKind::kIo, quote(stored_.file.path().native(), 4096), ", a file of tokens, has shrunk");
    }
    std::copy(narrow.begin(), narrow.end(), ids.begin());
  }

  const StoredTokens& stored() const noexcept { return stored_; }
  /// Of what was appended.
  formats::Digest content() const { return digest_.digest(); }

 private:
  StoredTokens stored_;
  formats::Sha256 digest_;
};

// How much of `piece` to encode at once: up to its last line end, else up to a character's start.
std::size_t whole_lines(const std::string& piece) {
  const std::size_t line = piece.rfind('\n');
  if (line != std::string::npos) {
    return line + 1;
  }
  std::size_t end = piece.size();
  while (end > piece.size() - 3 && (static_cast<unsigned char>(piece[end - 1]) & 0xC0U) == 0x80U) {
    --end;
  }
  return std::max<std::size_t>(end - 1, 1);
}

void encode_file(const TextCorpus& corpus, const TextFile& file, const text::Tokenizer& tokenizer,
                 EncodedTokens& tokens, ProgressBar& bar) {
  const std::int64_t end = file.begin + file.bytes;
  for (std::int64_t position = file.begin; position < end;) {
    std::string piece(static_cast<std::size_t>(std::min(kPieceBytes, end - position)), '\0');
    corpus.read(position, static_cast<std::int64_t>(piece.size()), piece.data());
    // A piece that is cut within a line would be encoded otherwise than the line as a whole.
    if (position + static_cast<std::int64_t>(piece.size()) < end) {
      piece.resize(whole_lines(piece));
    }
    tokens.append(tokenizer.encode(piece));
    position += static_cast<std::int64_t>(piece.size());
    bar.update(static_cast<double>(position));
  }
}

std::shared_ptr<EncodedTokens> encode(const TextCorpus& corpus, const text::Tokenizer& tokenizer) {
  auto tokens = std::make_shared<EncodedTokens>(StoredTokens{scratch_file("tokens")});
  ProgressBar bar("tokenising", static_cast<double>(corpus.bytes()));
  bar.keep_showing();
  for (const TextFile& file : corpus.files()) {
    encode_file(corpus, file, tokenizer, *tokens, bar);
  }
  return tokens;
}

}  // namespace

std::shared_ptr<const TokenSource> tokenize(std::shared_ptr<const TextCorpus> corpus, const text::Tokenizer& tokenizer,
                                            const std::optional<TokenCache>& cache) {
  if (tokenizer.kind() == "bytes") {
    corpus->remember_content();
    return std::make_shared<ByteTokens>(std::move(corpus));
  }
  const std::optional<formats::Digest> key = cache ? token_key(*corpus, tokenizer) : std::nullopt;
  if (key) {
    if (std::optional<StoredTokens> kept = cache->find(*key, tokenizer.vocabulary_size())) {
      report_progress(concat("the text was tokenised before: ", kept->size, " tokens from ",
                             quote(cache->directory().native(), 4096)));
      return std::make_shared<EncodedTokens>(*std::move(kept));
    }
  }
  const std::shared_ptr<EncodedTokens> tokens = encode(*corpus, tokenizer);
  // A text that changed since its digest was taken must not be found under it.
  if (key && token_key(*corpus, tokenizer) == key) {
    cache->keep(*key, tokens->stored(), tokens->content());
  }
  return tokens;
}

std::shared_ptr<const TokenSource> tokenize_once(std::shared_ptr<const TextCorpus> corpus,
                                                 const text::Tokenizer& tokenizer) {
  constexpr std::int64_t kWorthKeeping = std::int64_t{1} << 20;  // about a second of work
  const bool small = corpus->bytes() < kWorthKeeping || tokenizer.kind() == "bytes";
  return tokenize(std::move(corpus), tokenizer, small ? std::nullopt : TokenCache::of_environment());
}

std::uint64_t fingerprint(const TokenSource& source) {
  // Evenly spaced runs: another text, order or tokeniser shows with near certainty, an edit between the runs does not.
  constexpr std::int64_t kPlaces = 256;
  constexpr std::int64_t kRun = 16;
  std::uint64_t result = random_bits(static_cast<std::uint64_t>(source.size()), 0);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(std::min(kRun, source.size())));
  const std::int64_t last = source.size() - static_cast<std::int64_t>(ids.size());
  for (std::int64_t place = 0; place < kPlaces; ++place) {
    const auto begin = static_cast<std::int64_t>(random_below(
        ~std::uint64_t{0} / (kPlaces - 1) * static_cast<std::uint64_t>(place), static_cast<std::uint64_t>(last) + 1));
    source.read(begin, ids);
    for (const std::int64_t id : ids) {
      result = random_bits(result, static_cast<std::uint64_t>(id));
    }
  }
  return result;
}

std::string content_digest(const TokenSource& source) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 16;  // ids that lie in a core's cache
  const std::int64_t pieces = (source.size() + kPiece - 1) / kPiece;
  std::vector<std::string> digests(static_cast<std::size_t>(pieces));
  ProgressBar bar("reading the training data", static_cast<double>(pieces));
  std::atomic<std::int64_t> done{0};
  at::parallel_for(0, pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::int64_t> ids;
    for (std::int64_t piece = begin; piece < end; ++piece) {
      ids.resize(static_cast<std::size_t>(std::min(kPiece, source.size() - piece * kPiece)));
      source.read(piece * kPiece, ids);
      const std::string_view bytes(reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(std::int64_t));
      digests[static_cast<std::size_t>(piece)] = digest_of(bytes);
      bar.update(static_cast<double>(++done));
    }
  });
  return digest_of(joined(digests, " ", [](const std::string& digest) { return digest; }));
}

void warn_of_unknown_tokens(const TokenSource& source, const text::Tokenizer& tokenizer, const std::string& where,
                            const std::string& what) {
  constexpr std::int64_t kTokensOfRun = 4096;
  constexpr std::int64_t kMostRuns = 256;
  if (source.size() == 0 || !text::unknown_id(tokenizer)) {
    return;
  }
  text::UnknownTokens unknown(tokenizer, where);
  const std::int64_t all = (source.size() + kTokensOfRun - 1) / kTokensOfRun;
  const std::int64_t runs = std::min(all, kMostRuns);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(std::min(kTokensOfRun, source.size())));
  const std::int64_t last = source.size() - static_cast<std::int64_t>(ids.size());
  for (std::int64_t run = 0; run < runs; ++run) {
    source.read(runs == 1 ? 0 : last / (runs - 1) * run, ids);
    unknown.add(ids);
  }
  unknown.warn(what);
}

}  // namespace weft::data
