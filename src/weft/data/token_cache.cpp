// SPDX-License-Identifier: Apache-2.0
// A file is a name of the form, the key, the digest of the ids, their number, and the ids.
#include "weft/data/token_cache.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "weft/core/disk/scratch_file.h"
#include "weft/core/environment.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/log.h"
#include "weft/core/number.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/core/temporary_name.h"
#include "weft/core/version.h"
#include "weft/formats/config_json.h"
#include "weft/text/hugging_face.h"

namespace weft::data {
namespace {

namespace fs = std::filesystem;
using formats::Digest;
using formats::Sha256;

constexpr std::string_view kForm{"weft-tokens-1\n\0\0", 16};  // to be raised when pieces are cut or stored otherwise
constexpr const char* kEnding = ".tokens";
constexpr std::size_t kChunk = std::size_t{1} << 20;

struct Header {
  std::array<char, 16> form;
  Digest key;
  Digest content;
  std::int64_t size;
};
static_assert(sizeof(Header) == 88, "no padding: the header is written as it lies in memory");

// The tokeniser's files by name. Their folder is gone before the text is read.
std::map<std::string, std::string> files_of(const text::Tokenizer& tokenizer) {
  const TemporaryFolder folder("tokenizer");
  with_temporary_folder([&] { tokenizer.save(folder.path()); });
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path())) {
    files.emplace(entry.path().filename().string(), read_file(entry.path()));
  }
  return files;
}

// Whether one text may get other tokens each time.
bool draws_at_random(const text::Tokenizer& tokenizer) {
  const auto* fast = dynamic_cast<const text::HuggingFaceTokenizer*>(&tokenizer);
  if (fast == nullptr) {
    return false;
  }
  const formats::Json model = formats::parse_json(fast->model_json(), "the tokeniser's model");
  const auto dropout = model.is_object() ? model.find("dropout") : model.end();
  return model.is_object() && dropout != model.end() && dropout->is_number() && dropout->get<double>() > 0;
}

void add_text(Sha256& digest, const TextCorpus& corpus) {
  ProgressBar bar("reading text", static_cast<double>(corpus.bytes()));
  std::string piece;
  // Files by their sizes, too: what stands at the end of one and the beginning of the next is never one token.
  digest.add_number(corpus.files().size());
  for (const TextFile& file : corpus.files()) {
    digest.add_number(static_cast<std::uint64_t>(file.bytes));
    for (std::int64_t done = 0; done < file.bytes;) {
      piece.resize(std::min(kChunk, static_cast<std::size_t>(file.bytes - done)));
      corpus.read(file.begin + done, static_cast<std::int64_t>(piece.size()), piece.data());
      digest.add(piece);
      done += static_cast<std::int64_t>(piece.size());
      bar.update(static_cast<double>(file.begin + done));
    }
  }
}

// Calls visit(data, bytes) for all ids, a chunk at a time. Errors: kIo where the file ends before.
template <typename Visit>
void for_each_chunk(const StoredTokens& tokens, const Visit& visit) {
  std::vector<std::int32_t> chunk(kChunk / sizeof(std::int32_t));
  for (std::int64_t done = 0; done < tokens.size;) {
    const auto count = std::min(static_cast<std::int64_t>(chunk.size()), tokens.size - done);
    const auto bytes = static_cast<std::size_t>(count) * sizeof(std::int32_t);
    const std::uint64_t place = tokens.offset + static_cast<std::uint64_t>(done) * sizeof(std::int32_t);
    if (tokens.file.read_at(place, chunk.data(), bytes) != bytes) {
      fail(ErrorKind::kIo, quote(tokens.file.path().native(), 4096), " has shrunk while it was read");
    }
    visit(chunk.data(), static_cast<std::size_t>(count));
    done += count;
  }
}

// Errors: kFormat saying what is wrong.
StoredTokens open_entry(const fs::path& path, const Digest& key, std::int64_t vocabulary) {
  StoredTokens tokens;
  tokens.file = Descriptor::open_regular(path);
  tokens.offset = sizeof(Header);
  Header header{};
  const std::size_t got = tokens.file.read_at(0, &header, sizeof(header));
  const bool known = got == sizeof(header) && std::memcmp(header.form.data(), kForm.data(), kForm.size()) == 0;
  if (!known || header.key != key || header.size < 0 ||
      tokens.file.size() - sizeof(header) != static_cast<std::uint64_t>(header.size) * sizeof(std::int32_t)) {
    fail(ErrorKind::kFormat, "its header or size is wrong");
  }
  tokens.size = header.size;
  Sha256 digest;
  std::int32_t lowest = 0;
  std::int32_t highest = 0;
  for_each_chunk(tokens, [&](const std::int32_t* ids, std::size_t count) {
    digest.add(ids, count * sizeof(std::int32_t));
    const auto [low, high] = std::minmax_element(ids, ids + count);
    lowest = std::min(lowest, *low);
    highest = std::max(highest, *high);
  });
  if (digest.digest() != header.content) {
    fail(ErrorKind::kFormat, "its bytes are not those that were written");
  }
  if (lowest < 0 || highest >= vocabulary) {
    fail(ErrorKind::kFormat, "it holds the id ", lowest < 0 ? lowest : highest, ", and the vocabulary has ",
         vocabulary);
  }
  return tokens;
}

std::string gigabytes(std::uint64_t bytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g GB", static_cast<double>(bytes) / 1e9);
  return text.data();
}

}  // namespace

std::optional<Digest> token_key(const TextCorpus& corpus, const text::Tokenizer& tokenizer) {
  const std::map<std::string, std::string> saved = files_of(tokenizer);
  if (saved.empty() || draws_at_random(tokenizer)) {
    return std::nullopt;
  }
  Sha256 digest;
  for (const std::string& part : {std::string(kForm), std::string(kVersion), tokenizer.kind()}) {
    digest.add_number(part.size());
    digest.add(part);
  }
  digest.add_number(saved.size());
  for (const auto& [name, content] : saved) {
    for (const std::string* part : {&name, &content}) {
      digest.add_number(part->size());
      digest.add(*part);
    }
  }
  add_text(digest, corpus);
  return digest.digest();
}

TokenCache::TokenCache(fs::path directory, std::uint64_t most_bytes)
    : directory_(std::move(directory)), most_bytes_(most_bytes) {}

std::optional<TokenCache> TokenCache::of_environment() {
  constexpr double kGigabytes = 10;
  constexpr double kMostGigabytes = 1e6;
  const std::string word = environment("WEFT_CACHE_GB").value_or("");
  const std::optional<double> given = word.empty() ? kGigabytes : real_of(word);
  require(given && *given >= 0 && *given <= kMostGigabytes, "WEFT_CACHE_GB must be a number of gigabytes, 0 to ",
          kMostGigabytes, ", found ", Quoted(word));
  const std::optional<fs::path> directory = cache_directory();
  if (!directory || *given == 0) {
    return std::nullopt;
  }
  return TokenCache(*directory / "tokens", static_cast<std::uint64_t>(*given * 1e9));
}

fs::path TokenCache::path_of(const Digest& key) const { return directory_ / (formats::hexadecimal(key) + kEnding); }

std::optional<StoredTokens> TokenCache::find(const Digest& key, std::int64_t vocabulary) const {
  const fs::path path = path_of(key);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    return std::nullopt;
  }
  try {
    StoredTokens tokens = open_entry(path, key, vocabulary);
    fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);  // used now: removed last
    return tokens;
  } catch (const Error& error) {
    log_warning("the cached tokens ", quote(path.native(), 4096), " cannot be used (", error.what(),
                "); the text is tokenised again");
    fs::remove(path, ignored);
    return std::nullopt;
  }
}

void TokenCache::keep(const Digest& key, const StoredTokens& tokens, const Digest& content) const {
  const std::uint64_t bytes = sizeof(Header) + static_cast<std::uint64_t>(tokens.size) * sizeof(std::int32_t);
  if (bytes > most_bytes_) {
    report_progress(concat("the tokens are not kept for later runs: they need ", gigabytes(bytes),
                           ", and the cache may have ", gigabytes(most_bytes_), " (WEFT_CACHE_GB)"));
    return;
  }
  try {
    if (fs::create_directories(directory_)) {
      fs::permissions(directory_, fs::perms::owner_all);  // tokens tell the text, whoever may read that
    }
    make_room(bytes);
    Header header{{}, key, content, tokens.size};
    std::memcpy(header.form.data(), kForm.data(), kForm.size());
    AtomicFile file(path_of(key));
    file.write(&header, sizeof(header));
    for_each_chunk(tokens,
                   [&](const std::int32_t* ids, std::size_t count) { file.write(ids, count * sizeof(std::int32_t)); });
    file.commit();
    report_progress(concat("the tokens are kept for later runs in ", quote(directory_.native(), 4096)));
  } catch (const std::exception& error) {
    log_warning("cannot keep the tokens for later runs: ", error.what(),
                "; WEFT_CACHE names another directory, WEFT_CACHE_GB=0 keeps nothing");
  }
}

// Also removes what a killed process left half-written; a day is longer than any write takes.
void TokenCache::make_room(std::uint64_t bytes) const {
  struct Entry {
    fs::path path;
    fs::file_time_type used;
    std::uint64_t bytes;
  };
  std::vector<Entry> entries;
  std::uint64_t all = bytes;
  std::error_code ignored;
  for (const fs::directory_entry& found : fs::directory_iterator(directory_)) {
    const fs::file_time_type used = found.last_write_time(ignored);
    if (is_temporary_name(found.path()) && fs::file_time_type::clock::now() - used > std::chrono::hours(24)) {
      fs::remove(found.path(), ignored);
    } else if (found.path().extension() == kEnding && found.is_regular_file(ignored)) {
      entries.push_back({found.path(), used, found.file_size(ignored)});
      all += entries.back().bytes;
    }
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (all <= most_bytes_) {
      break;
    }
    all -= fs::remove(entry.path, ignored) ? entry.bytes : 0;
  }
}

}  // namespace weft::data
