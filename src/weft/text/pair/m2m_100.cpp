// SPDX-License-Identifier: Apache-2.0
// M2M100Tokenizer: the pieces of a SentencePiece model by a table of ids, and the codes of languages behind it.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/formats/json_members.h"
#include "weft/text/pair/directory_files.h"
#include "weft/text/pair/piece_files.h"

namespace weft::text {
namespace {

constexpr const char* kM2mPieces = "sentencepiece.bpe.model";
constexpr const char* kM2mTable = "vocab.json";

/// The languages of the released models, in the order of their ids.
constexpr std::array kM2mLanguages{
    "af", "am", "ar", "ast", "az", "ba",  "be", "bg", "bn", "br", "bs", "ca", "ceb", "cs", "cy", "da", "de",
    "el", "en", "es", "et",  "fa", "ff",  "fi", "fr", "fy", "ga", "gd", "gl", "gu",  "ha", "he", "hi", "hr",
    "ht", "hu", "hy", "id",  "ig", "ilo", "is", "it", "ja", "jv", "ka", "kk", "km",  "kn", "ko", "lb", "lg",
    "ln", "lo", "lt", "lv",  "mg", "mk",  "ml", "mn", "mr", "ms", "my", "ne", "nl",  "no", "ns", "oc", "or",
    "pa", "pl", "ps", "pt",  "ro", "ru",  "sd", "si", "sk", "sl", "so", "sq", "sr",  "ss", "su", "sv", "sw",
    "ta", "th", "tl", "tn",  "tr", "uk",  "ur", "uz", "vi", "wo", "xh", "yi", "yo",  "zh", "zu"};
constexpr std::array kWmt21Languages{"en", "ha", "is", "ja", "cs", "ru", "zh", "de"};

std::vector<AddedToken> code_tokens(const formats::Json& config, const std::string& where) {
  const formats::Json set = config.value("language_codes", formats::Json("m2m100"));
  if (set != "m2m100" && set != "wmt21") {
    fail(ErrorKind::kFormat, where, ": tokenizer_config.json: language_codes must be m2m100 or wmt21, found ",
         formats::quoted_json(set));
  }
  std::vector<AddedToken> tokens;
  const auto add = [&](const char* code) { tokens.push_back({.content = concat("__", code, "__"), .special = true}); };
  if (set == "m2m100") {
    std::for_each(kM2mLanguages.begin(), kM2mLanguages.end(), add);
  } else {
    std::for_each(kWmt21Languages.begin(), kWmt21Languages.end(), add);
  }
  return tokens;
}

}  // namespace

bool is_m2m_100(const std::filesystem::path& directory) {
  return ModelFile(directory, kM2mPieces).exists() && ModelFile(directory, kM2mTable).exists() &&
         !ModelFile(directory, "tokenizer.json").exists();
}

PieceSides read_m2m_100(const std::filesystem::path& directory) {
  const std::string where = quote(directory.native(), 4096);
  TokenizerFiles files = read_pair_files(directory, {kM2mPieces, kM2mTable});
  TokenizerSettings settings = read_tokenizer_settings(files, where);
  name_role(settings, SpecialRole::kBegin, "<s>");
  name_role(settings, SpecialRole::kEnd, "</s>");
  name_role(settings, SpecialRole::kUnknown, "<unk>");
  name_role(settings, SpecialRole::kPadding, "<pad>");
  settings.extra = code_tokens(settings.config, where);
  const auto ids =
      std::make_shared<const TokenIds>(read_vocabulary_json(files.at(kM2mTable), concat(where, ": ", kM2mTable)));
  const AddedTokens added(settings, *ids, where);
  const auto model = processor_of(files, kM2mPieces, where);
  PieceSides sides;
  sides.end = added.id(name_of(settings, SpecialRole::kEnd));
  const PieceParts parts{.kind = "m2m_100",
                         .rules = {.clean_up = settings.clean_up},
                         .cut = model,
                         .join = model,
                         .cutter = cutter_of(added, where),
                         .numbers = ids,
                         .unknown = name_of(settings, SpecialRole::kUnknown),
                         .files = std::make_shared<const TokenizerFiles>(std::move(files))};
  sides.source = sides.target = std::make_shared<const PieceTokenizer>(parts, concat(where, ": ", kM2mTable));
  sides.settings = std::move(settings);
  return sides;
}

}  // namespace weft::text
