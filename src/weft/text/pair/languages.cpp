// SPDX-License-Identifier: Apache-2.0
// The codes are found in the vocabulary by their shape, behind its pieces.
#include "weft/text/pair/languages.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/text/hugging_face/tokenizer_files.h"
#include "weft/text/pair/directory_files.h"

namespace weft::text {
namespace {

using Ids = std::vector<std::int64_t>;

/// A tokeniser class of many languages.
struct LanguageClass {
  std::string_view name;
  std::string_view model_type;  ///< whose class this is where no file names one
  std::string_view usual;       ///< language of a source where the files name none
  bool code_first;
};

constexpr std::array kLanguageClasses{
    LanguageClass{"MBartTokenizer", "mbart", "en_XX", false}, LanguageClass{"MBart50Tokenizer", "", "en_XX", true},
    LanguageClass{"NllbTokenizer", "", "eng_Latn", true}, LanguageClass{"M2M100Tokenizer", "m2m_100", "en", true}};

class LanguagePair final : public PairTokenizer {
 public:
  LanguagePair(std::unique_ptr<PairTokenizer> inner, FramedLanguages languages)
      : PairTokenizer(inner->shared()), inner_(std::move(inner)), languages_(std::move(languages)) {
    source_ = languages_.frame_of(languages_.ids.at(languages_.source));
    // A decoder begins with the code where it is behind a source; labels then begin with their text.
    if (languages_.code_first && !languages_.target.empty()) {
      target_.before = {languages_.ids.at(languages_.target)};
    }
    target_.behind = {languages_.end};
  }

  Ids encode(std::string_view text, Side side) const override {
    return (side == Side::kSource ? source_ : target_).around(inner_->encode_unframed(text, side));
  }
  Ids encode_unframed(std::string_view text, Side side) const override { return inner_->encode_unframed(text, side); }
  Ids encode_plain(std::string_view text, Side side) const override { return inner_->encode_plain(text, side); }
  const Frame& frame() const override { return source_; }
  std::string display(const Ids& ids, Side side) const override { return inner_->display(ids, side); }
  const Tokenizer& side(Side side) const override { return inner_->side(side); }
  std::string token(std::int64_t id, Side side) const override { return inner_->token(id, side); }
  std::optional<std::int64_t> find(std::string_view token, Side side) const override {
    return inner_->find(token, side);
  }
  const FramedLanguages* framed_languages() const override { return &languages_; }
  std::int64_t maximum_length() const override { return inner_->maximum_length(); }

 private:
  std::unique_ptr<PairTokenizer> inner_;
  FramedLanguages languages_;
  Frame source_;
  Frame target_;
};

/// "en_XX" of en_XX, "eng_Latn" of eng_Latn, "en" of __en__; empty for any other token.
std::string code_of(std::string_view token) {
  const auto lower = [](unsigned char letter) { return std::islower(letter) != 0; };
  const auto letters = [](unsigned char letter) { return std::isalpha(letter) != 0; };
  if (token.size() > 4 && token.starts_with("__") && token.ends_with("__")) {
    token.remove_prefix(2);
    token.remove_suffix(2);
    return std::all_of(token.begin(), token.end(), lower) ? std::string(token) : std::string();
  }
  const std::size_t line = token.find('_');
  if (line < 2 || line > 3 || token.size() < line + 3 || token.size() > line + 5) {
    return {};
  }
  const std::string_view behind = token.substr(line + 1);
  const bool is_code = std::all_of(token.begin(), token.begin() + static_cast<std::ptrdiff_t>(line), lower) &&
                       std::isupper(static_cast<unsigned char>(behind.front())) != 0 &&
                       std::all_of(behind.begin(), behind.end(), letters);
  return is_code ? std::string(token) : std::string();
}

std::map<std::string, std::int64_t, std::less<>> codes_in(const PairTokenizer& tokenizer) {
  constexpr std::int64_t kBehindPieces = 1024;  // tokens; codes are among them, 204 at most
  const std::int64_t end = tokenizer.side(Side::kSource).vocabulary_size();
  std::map<std::string, std::int64_t, std::less<>> ids;
  for (std::int64_t id = std::max<std::int64_t>(0, end - kBehindPieces); id < end; ++id) {
    std::string token;
    try {
      token = tokenizer.token(id, Side::kSource);
    } catch (const Error&) {
      continue;  // an id without a token
    }
    if (std::string code = code_of(token); !code.empty()) {
      ids.emplace(std::move(code), id);
    }
  }
  return ids;
}

const LanguageClass* language_class(const TokenizerSettings& settings, const std::filesystem::path& directory) {
  const std::string& named = settings.tokenizer_class;
  const std::string type = named.empty() ? model_type_in(directory) : std::string();
  const auto* const row =
      std::find_if(kLanguageClasses.begin(), kLanguageClasses.end(), [&](const LanguageClass& each) {
        return named.empty() ? !type.empty() && each.model_type == type : each.name == without_fast(named);
      });
  return row == kLanguageClasses.end() ? nullptr : row;
}

void check_language(const FramedLanguages& languages, const std::string& code, const char* key,
                    const std::string& where) {
  if (!code.empty() && !languages.ids.contains(code)) {
    fail(ErrorKind::kFormat, where, ": tokenizer_config.json: ", key, " is ", quote(code),
         ", which the vocabulary lacks");
  }
}

}  // namespace

Frame FramedLanguages::frame_of(std::int64_t language) const {
  return code_first ? Frame{.before = {language}, .behind = {end}} : Frame{.behind = {end, language}};
}

std::unique_ptr<PairTokenizer> with_languages(std::unique_ptr<PairTokenizer> inner, const TokenizerSettings& settings,
                                              const std::filesystem::path& directory) {
  const std::string where = quote(directory.native(), 4096);
  const LanguageClass* const row = language_class(settings, directory);
  if (row == nullptr) {
    return inner;
  }
  FramedLanguages languages{.ids = codes_in(*inner)};
  const std::optional<std::int64_t> end = inner->find("</s>", Side::kSource);
  if (languages.ids.empty() || !end) {
    if (!settings.tokenizer_class.empty()) {
      fail(ErrorKind::kFormat, where, ": the tokeniser is a ", quote(settings.tokenizer_class),
           ", but its vocabulary has no ",
           end ? concat("code of a language, as ", quote(row->usual), " is one") : std::string("'</s>'"));
    }
    return inner;  // a vocabulary of somebody's own: texts are framed as its files say
  }
  languages.end = *end;
  languages.code_first = row->code_first && settings.config.value("legacy_behaviour", formats::Json(false)) != true;
  languages.source = settings.source_language;
  languages.target = text_member(settings.config, "tgt_lang", where);
  check_language(languages, languages.source, "src_lang", where);
  check_language(languages, languages.target, "tgt_lang", where);
  if (languages.source.empty()) {
    languages.source = languages.ids.contains(row->usual) ? std::string(row->usual) : languages.ids.begin()->first;
  }
  return std::make_unique<LanguagePair>(std::move(inner), std::move(languages));
}

}  // namespace weft::text
