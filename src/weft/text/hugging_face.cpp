// SPDX-License-Identifier: Apache-2.0
// The C++ side of the tokenizers crate: special tokens with their roles, encodings, and text made of tokens again.
#include "weft/text/hugging_face.h"

#include <utility>

#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/text/hugging_face/texts.h"
#include "weft/text/hugging_face/tokenizer_files.h"

namespace weft::text {
namespace {

// The role's token where no file names it: BERT's or RoBERTa's, whichever the vocabulary has.
std::optional<std::int64_t> usual_special(const HuggingFaceTokenizer& tokenizer, SpecialRole role) {
  constexpr std::pair<const char*, const char*> kUsual[kSpecialRoles] = {
      {"<s>", "<s>"},     {"</s>", "</s>"}, {"[UNK]", "<unk>"},  {"[SEP]", "</s>"},
      {"[PAD]", "<pad>"}, {"[CLS]", "<s>"}, {"[MASK]", "<mask>"}};
  const auto& [bracketed, angled] = kUsual[static_cast<std::size_t>(role)];
  const std::optional<std::int64_t> id = tokenizer.find(bracketed);
  return id ? id : tokenizer.find(angled);
}

// The file that has the rules.
std::string rules_file(const TokenizerFiles& files, const std::string& where) {
  for (const char* name : vocabulary_files()) {
    if (files.contains(name)) {
      return concat(where, ": ", name);
    }
  }
  return where;
}

using Encoded = std::unique_ptr<WeftEncoded, decltype(&weft_encoded_free)>;

Encoded encoded(const WeftTokenizer* tokenizer, const WeftRequest& request, const std::string& where) {
  ForeignText error;
  Encoded result(weft_tokenizer_encode(tokenizer, &request, error.get()), &weft_encoded_free);
  require(result != nullptr, where, ": cannot tokenise the text: ", Quoted(error.str(), 300));
  return result;
}

}  // namespace

void HuggingFaceTokenizer::Free::operator()(WeftTokenizer* tokenizer) const { weft_tokenizer_free(tokenizer); }
HuggingFaceTokenizer::~HuggingFaceTokenizer() = default;

bool HuggingFaceTokenizer::present_in(const std::filesystem::path& directory) { return has_tokenizer_files(directory); }

HuggingFaceTokenizer::HuggingFaceTokenizer(const std::filesystem::path& directory, const TokenizerOptions& options) {
  // The settings matter beside a tokenizer.json too: only they say which token has which role.
  const std::string where = quote(directory.native(), 4096);
  auto [files, settings] = read_tokenizer_directory(directory, where);
  files_ = std::move(files);
  const TokenizerClass* const named = find_tokenizer_class(settings.tokenizer_class);
  type_ids_ = settings.type_ids || settings.tokenizer_class.empty()
                  ? settings.type_ids
                  : std::optional(named != nullptr && named->token_types);
  std::string text = tokenizer_json(files_, settings, where);
  if (options.lower_case_first) {
    text = lowercased_first(text, concat(where, ": tokenizer.json"));
  }
  ForeignText error;
  tokenizer_.reset(weft_tokenizer_load(bytes_of(text), text.size(), error.get()));
  where_ = rules_file(files_, where);
  if (tokenizer_ == nullptr) {
    fail(ErrorKind::kFormat, where_, ": not a tokeniser that can be read: ", quote(error.str(), 300));
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
  settings_ = std::make_unique<const TokenizerSettings>(std::move(settings));
}

std::int64_t HuggingFaceTokenizer::maximum_length() const noexcept { return settings_->maximum_length; }

std::vector<Encoding> HuggingFaceTokenizer::encode_all(std::string_view first, const std::string_view* second,
                                                       const EncodeOptions& options) const {
  require(options.max_length >= 0 && options.stride >= 0, "max_length and stride must be at least 0, found ",
          options.max_length, " and ", options.stride);
  const RequestTexts texts(first, second);
  const Encoded result = encoded(tokenizer_.get(), texts.request(options, settings_->truncate_left), where_);
  std::vector<Encoding> windows;
  windows.reserve(weft_encoded_windows(result.get()));
  for (std::size_t i = 0; i < weft_encoded_windows(result.get()); ++i) {
    windows.push_back(texts.window(weft_encoded_window(result.get(), i)));
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
  const std::string repaired = valid_text(text);
  const std::string_view given = repaired.empty() ? text : std::string_view(repaired);
  const Encoded result =
      encoded(tokenizer_.get(), {.first = bytes_of(given), .first_length = given.size(), .ids_only = true}, where_);
  const WeftWindow window = weft_encoded_window(result.get(), 0);
  return {window.ids, window.ids + window.length};
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
  const bool decoded =
      weft_tokenizer_decode(tokenizer_.get(), narrow.data(), narrow.size(), skip_special, result.get(), error.get());
  require(decoded, where_, ": cannot decode the tokens: ", Quoted(error.str(), 300));
  return result.str();
}

std::string HuggingFaceTokenizer::display(const std::vector<std::int64_t>& ids, bool skip_special) const {
  std::string text = decode(ids, skip_special);
  return clean_up_ ? cleaned_up(std::move(text)) : text;
}

std::string HuggingFaceTokenizer::join(const std::vector<std::string>& tokens) const {
  std::vector<WeftSlice> slices;
  slices.reserve(tokens.size());
  for (const std::string& token : tokens) {
    slices.push_back({bytes_of(token), token.size()});
  }
  ForeignText result;
  ForeignText error;
  const bool joined = weft_tokenizer_join(tokenizer_.get(), slices.data(), slices.size(), result.get(), error.get());
  require(joined, where_, ": cannot join the tokens: ", Quoted(error.str(), 300));
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

bool HuggingFaceTokenizer::is_added(std::int64_t id) const {
  return weft_tokenizer_is_added(tokenizer_.get(), checked({id}).front());
}

std::string HuggingFaceTokenizer::model_json() const {
  ForeignText result;
  ForeignText error;
  if (!weft_tokenizer_model(tokenizer_.get(), result.get(), error.get())) {
    fail(ErrorKind::kFormat, where_, ": cannot write the tokeniser's model: ", quote(error.str(), 300));
  }
  return result.str();
}

void HuggingFaceTokenizer::save(const std::filesystem::path& directory) const {
  for (const auto& [name, content] : files_) {
    write_file_atomically(directory / name, content);
  }
}

}  // namespace weft::text
