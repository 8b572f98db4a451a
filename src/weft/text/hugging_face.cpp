// SPDX-License-Identifier: Apache-2.0
// The C++ side of the tokenizers crate: which files make the tokeniser, and encodings with offsets in both units.
#include "weft/text/hugging_face.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/text/hugging_face/compose.h"
#include "weft/text/hugging_face/tokenizers_c.h"
#include "weft/text/utf8.h"

namespace weft::text {
namespace {

constexpr const char* kJson = "tokenizer.json";
constexpr const char* kWordPiece = "vocab.txt";
constexpr const char* kBytePairs = "vocab.json";
constexpr const char* kMerges = "merges.txt";
constexpr const char* kSentencePiece = "spiece.model";
// Files of which a directory has one, or tokenizer.json beside others; then all that are read and saved again.
constexpr const char* kVocabularies[] = {kJson, kWordPiece, kBytePairs, kSentencePiece};
constexpr const char* kFiles[] = {kJson,
                                  kWordPiece,
                                  kBytePairs,
                                  kMerges,
                                  kSentencePiece,
                                  "tokenizer_config.json",
                                  "special_tokens_map.json",
                                  "added_tokens.json"};

bool is_there(const std::filesystem::path& file) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::symlink_status(file, error));
}

const std::uint8_t* bytes_of(std::string_view text) { return reinterpret_cast<const std::uint8_t*>(text.data()); }

// Text from the other side, freed there.
class ForeignText {
 public:
  ForeignText() = default;
  ~ForeignText() {
    if (text_.data != nullptr) {
      weft_text_free(text_);
    }
  }
  ForeignText(const ForeignText&) = delete;
  ForeignText& operator=(const ForeignText&) = delete;
  WeftText* get() { return &text_; }
  std::string str() const { return {reinterpret_cast<const char*>(text_.data), text_.length}; }

 private:
  WeftText text_{};
};

// A tokeniser class of transformers without its ending, for comparison.
std::string_view without_fast(std::string_view name) {
  name.remove_suffix(name.ends_with("Fast") ? 4 : 0);
  return name;
}

void require_class(const TokenizerSettings& settings, std::initializer_list<std::string_view> known,
                   const std::string& where) {
  const std::string_view name = without_fast(settings.tokenizer_class);
  if (!name.empty() && std::find(known.begin(), known.end(), name) == known.end()) {
    throw Error(ErrorKind::kUnsupported,
                concat(where, ": the tokeniser is a ", quote(settings.tokenizer_class), ", which Weft reads from ",
                       kJson, " only"),
                "save it once with transformers, which writes that file");
  }
}

// The tokenizer.json of the directory, or the one that its older files amount to.
std::string tokenizer_text(const std::map<std::string, std::string>& files, TokenizerSettings& settings,
                           const std::string& where) {
  const auto json = files.find(kJson);
  if (json != files.end()) {
    return json->second;
  }
  // Which of two vocabularies is meant, nobody can tell.
  const auto count = std::count_if(std::begin(kVocabularies), std::end(kVocabularies),
                                   [&](const char* name) { return files.contains(name); });
  if (count != 1) {
    fail(count == 0 ? ErrorKind::kIo : ErrorKind::kFormat, where, ": expected one of ", kJson, ", ", kWordPiece, ", ",
         kBytePairs, " and ", kSentencePiece, ", found ", count == 0 ? "none" : "several");
  }
  if (files.contains(kWordPiece)) {
    require_class(settings, {"BertTokenizer"}, where);
    return compose_bert(files.at(kWordPiece), settings, where);
  }
  if (files.contains(kSentencePiece)) {
    require_class(settings, {"BigBirdTokenizer"}, where);
    return compose_big_bird(files.at(kSentencePiece), settings, where);
  }
  require_class(settings, {"RobertaTokenizer", "LongformerTokenizer"}, where);
  if (!files.contains(kMerges)) {
    fail(ErrorKind::kIo, where, ": ", kBytePairs, " needs ", kMerges, " beside it");
  }
  return compose_roberta(files.at(kBytePairs), files.at(kMerges), settings, where);
}

// The text with U+FFFD for every byte that is not part of valid UTF-8: as many code points as utf8.h counts.
std::string repaired(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t valid = valid_utf8_prefix(text);
    result += text.substr(0, valid);
    text.remove_prefix(valid);
    if (!text.empty()) {
      result += "\uFFFD";
      text.remove_prefix(1);
    }
  }
  return result;
}

// Where every code point of a text begins, and its end.
std::vector<std::int64_t> code_point_starts(std::string_view text) {
  std::vector<std::int64_t> starts;
  starts.reserve(text.size() + 1);
  std::size_t position = 0;
  while (position < text.size()) {
    starts.push_back(static_cast<std::int64_t>(position));
    position += std::max<std::size_t>(1, utf8_sequence_length(text.substr(position)));
  }
  starts.push_back(static_cast<std::int64_t>(text.size()));
  return starts;
}

using Starts = std::array<std::vector<std::int64_t>, 2>;

Encoding read_window(const WeftWindow& window, const Starts& starts) {
  Encoding encoding;
  encoding.ids.assign(window.ids, window.ids + window.length);
  encoding.type_ids.assign(window.types, window.types + window.length);
  encoding.special_mask.assign(window.special, window.special + window.length);
  encoding.words.assign(window.words, window.words + window.length);
  encoding.sequences.assign(window.sequences, window.sequences + window.length);
  encoding.offsets.reserve(window.length);
  encoding.byte_offsets.reserve(window.length);
  for (std::size_t i = 0; i < window.length; ++i) {
    const Span span{window.starts[i], window.ends[i]};
    encoding.offsets.push_back(span);
    // Special tokens have no place; their offsets are 0 to 0, as in transformers.
    const std::vector<std::int64_t>& places = starts[window.sequences[i] == 1 ? 1 : 0];
    const auto place = [&](std::int64_t point) {
      return places[std::min<std::size_t>(static_cast<std::size_t>(point), places.size() - 1)];
    };
    encoding.byte_offsets.push_back(window.sequences[i] < 0 ? Span{} : Span{place(span.begin), place(span.end)});
  }
  return encoding;
}

// The role's token where no file names it: BERT's or RoBERTa's, whichever the vocabulary has.
std::optional<std::int64_t> usual_special(const HuggingFaceTokenizer& tokenizer, SpecialRole role) {
  constexpr std::pair<const char*, const char*> kUsual[kSpecialRoles] = {
      {"<s>", "<s>"},     {"</s>", "</s>"}, {"[UNK]", "<unk>"},  {"[SEP]", "</s>"},
      {"[PAD]", "<pad>"}, {"[CLS]", "<s>"}, {"[MASK]", "<mask>"}};
  const auto& [bracketed, angled] = kUsual[static_cast<std::size_t>(role)];
  const std::optional<std::int64_t> id = tokenizer.find(bracketed);
  return id ? id : tokenizer.find(angled);
}

// The replacements of transformers' clean_up_tokenization, one after the other as there.
std::string without_blanks(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kReplacements[] = {
      {" .", "."},     {" ?", "?"},   {" !", "!"},   {" ,", ","},     {" ' ", "'"},
      {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [found, instead] : kReplacements) {
    for (std::size_t at = text.find(found); at != std::string::npos; at = text.find(found, at + instead.size())) {
      text.replace(at, found.size(), instead);
    }
  }
  return text;
}

}  // namespace

void HuggingFaceTokenizer::Free::operator()(WeftTokenizer* tokenizer) const { weft_tokenizer_free(tokenizer); }
HuggingFaceTokenizer::~HuggingFaceTokenizer() = default;

bool HuggingFaceTokenizer::present_in(const std::filesystem::path& directory) {
  return std::any_of(std::begin(kVocabularies), std::end(kVocabularies),
                     [&](const char* name) { return is_there(directory / name); });
}

HuggingFaceTokenizer::HuggingFaceTokenizer(const std::filesystem::path& directory) {
  constexpr std::uint64_t kLargestFile = std::uint64_t{256} << 20;
  for (const char* name : kFiles) {
    if (is_there(directory / name)) {
      files_.emplace(name, read_file(directory / name, kLargestFile));
    }
  }
  // The settings matter beside a tokenizer.json too: only they say which token has which role.
  const std::string where = quote(directory.native(), 4096);
  TokenizerSettings settings = read_tokenizer_settings(files_, where);
  maximum_length_ = settings.maximum_length;
  truncate_left_ = settings.truncate_left;
  // BERT's class has token types, and no other family's.
  type_ids_ = settings.type_ids || settings.tokenizer_class.empty()
                  ? settings.type_ids
                  : std::optional(without_fast(settings.tokenizer_class) == "BertTokenizer");
  const std::string text = tokenizer_text(files_, settings, where);
  ForeignText error;
  tokenizer_.reset(weft_tokenizer_load(bytes_of(text), text.size(), error.get()));
  if (tokenizer_ == nullptr) {
    fail(ErrorKind::kFormat, where, files_.contains(kJson) ? concat(": ", kJson) : std::string(),
         ": not a tokeniser that can be read: ", quote(error.str(), 300));
  }
  // transformers leaves the text of byte pairs as it is, whatever the setting.
  clean_up_ = settings.clean_up && !weft_tokenizer_merges_pairs(tokenizer_.get());
  for (std::size_t role = 0; role < kSpecialRoles; ++role) {
    const auto& named = settings.named[role];
    special_[role] = named ? find(named->content) : usual_special(*this, static_cast<SpecialRole>(role));
    if (named && !special_[role]) {
      fail(ErrorKind::kFormat, where, ": the ", role_key(static_cast<SpecialRole>(role)), " ", quote(named->content),
           " is not in the vocabulary");
    }
  }
}

std::vector<Encoding> HuggingFaceTokenizer::encode_all(std::string_view first, const std::string_view* second,
                                                       const EncodeOptions& options) const {
  require(options.max_length >= 0 && options.stride >= 0, "max_length and stride must be at least 0, found ",
          options.max_length, " and ", options.stride);
  const std::string_view given[] = {first, second == nullptr ? std::string_view() : *second};
  std::string repairs[2];
  std::string_view texts[2];
  Starts starts;
  for (int i = 0; i < 2; ++i) {
    require(given[i].size() < std::numeric_limits<std::int32_t>::max(), "a text must have less than 2 GiB, found ",
            given[i].size(), " bytes");
    // The other side takes valid UTF-8 only; a replaced byte is one code point here and there, so that offsets agree.
    const bool valid = is_valid_utf8(given[i]);
    repairs[i] = valid ? std::string() : repaired(given[i]);
    texts[i] = valid ? given[i] : std::string_view(repairs[i]);
    starts[i] = code_point_starts(given[i]);
  }
  // A second text may be empty, but null would mean that there is none.
  const std::uint8_t empty = 0;
  const WeftRequest request{.first = bytes_of(texts[0]),
                            .first_length = texts[0].size(),
                            .second = second == nullptr  ? nullptr
                                      : texts[1].empty() ? &empty
                                                         : bytes_of(texts[1]),
                            .second_length = texts[1].size(),
                            .max_length = static_cast<std::size_t>(options.max_length),
                            .stride = static_cast<std::size_t>(options.stride),
                            .strategy = static_cast<std::uint8_t>(options.truncation),
                            .special = options.special_tokens,
                            .left = truncate_left_};
  ForeignText error;
  const std::unique_ptr<WeftEncoded, decltype(&weft_encoded_free)> encoded(
      weft_tokenizer_encode(tokenizer_.get(), &request, error.get()), &weft_encoded_free);
  require(encoded != nullptr, "cannot tokenise the text: ", quote(error.str(), 300));
  std::vector<Encoding> windows;
  windows.reserve(weft_encoded_windows(encoded.get()));
  for (std::size_t i = 0; i < weft_encoded_windows(encoded.get()); ++i) {
    windows.push_back(read_window(weft_encoded_window(encoded.get(), i), starts));
  }
  return windows;
}

std::vector<Encoding> HuggingFaceTokenizer::encode_windows(std::string_view text, const EncodeOptions& options) const {
  return encode_all(text, nullptr, options);
}

std::vector<Encoding> HuggingFaceTokenizer::encode_windows(std::string_view first, std::string_view second,
                                                           const EncodeOptions& options) const {
  return encode_all(first, &second, options);
}

std::vector<std::int64_t> HuggingFaceTokenizer::encode(std::string_view text) const {
  return encode_windows(text, {.special_tokens = false}).front().ids;
}

std::vector<std::uint32_t> HuggingFaceTokenizer::checked(const std::vector<std::int64_t>& ids) const {
  std::vector<std::uint32_t> narrow(ids.size());
  const std::int64_t size = vocabulary_size();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    require(ids[i] >= 0 && ids[i] < size, "token ", i, " is ", ids[i], ", but the vocabulary has ", size, " ids");
    narrow[i] = static_cast<std::uint32_t>(ids[i]);
  }
  return narrow;
}

std::string HuggingFaceTokenizer::decode(const std::vector<std::int64_t>& ids, bool skip_special) const {
  const std::vector<std::uint32_t> narrow = checked(ids);
  ForeignText result;
  ForeignText error;
  require(
      weft_tokenizer_decode(tokenizer_.get(), narrow.data(), narrow.size(), skip_special, result.get(), error.get()),
      "cannot decode the tokens: ", quote(error.str(), 300));
  return result.str();
}

std::string HuggingFaceTokenizer::display(const std::vector<std::int64_t>& ids, bool skip_special) const {
  std::string text = decode(ids, skip_special);
  return clean_up_ ? without_blanks(std::move(text)) : text;
}

std::string HuggingFaceTokenizer::join(const std::vector<std::string>& tokens) const {
  std::vector<WeftSlice> slices;
  slices.reserve(tokens.size());
  for (const std::string& token : tokens) {
    slices.push_back({bytes_of(token), token.size()});
  }
  ForeignText result;
  ForeignText error;
  require(weft_tokenizer_join(tokenizer_.get(), slices.data(), slices.size(), result.get(), error.get()),
          "cannot join the tokens: ", quote(error.str(), 300));
  return result.str();
}

std::string HuggingFaceTokenizer::continuation() const {
  ForeignText result;
  weft_tokenizer_continuation(tokenizer_.get(), result.get());
  return result.str();
}

std::int64_t HuggingFaceTokenizer::vocabulary_size() const {
  return static_cast<std::int64_t>(weft_tokenizer_size(tokenizer_.get()));
}

std::optional<std::int64_t> HuggingFaceTokenizer::find(std::string_view token) const {
  const std::int64_t id = weft_tokenizer_id(tokenizer_.get(), bytes_of(token), token.size());
  return id < 0 ? std::nullopt : std::optional(id);
}

std::string HuggingFaceTokenizer::token(std::int64_t id) const {
  ForeignText result;
  require(weft_tokenizer_token(tokenizer_.get(), checked({id}).front(), result.get()), "no token has the id ", id);
  return result.str();
}

void HuggingFaceTokenizer::save(const std::filesystem::path& directory) const {
  for (const auto& [name, content] : files_) {
    write_file_atomically(directory / name, content);
  }
}

}  // namespace weft::text
