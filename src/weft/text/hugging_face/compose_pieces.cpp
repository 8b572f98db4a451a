// SPDX-License-Identifier: Apache-2.0
// SentencePiece models of BigBird, T5, XLM-RoBERTa and CamemBERT as a tokenizer.json. In those of the last two a
// family's own tokens replace the model's first pieces and shift the ids of the others, as in fairseq, where they were
// trained.
#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/formats/packed_text.h"
#include "weft/text/hugging_face/compose.h"
#include "weft/text/hugging_face/compose_parts.h"
#include "weft/text/hugging_face/vocabulary.h"
#include "weft/text/sentencepiece/model.h"
#include "weft/text/sentencepiece_check.h"

namespace weft::text {
namespace {

using formats::Json;

constexpr const char* kSaveOnce = "save the tokeniser once with transformers, which writes tokenizer.json";

// A score as exactly as a double holds it.
std::string number_text(float value) {
  char digits[32];
  const auto result = std::to_chars(std::begin(digits), std::end(digits), static_cast<double>(value));
  return {std::begin(digits), result.ptr};
}

// Errors: kFormat, kUnsupported for another kind than that of `whose` released models.
void check_unigram(std::string_view model, const char* whose, const std::string& hint, std::string_view where) {
  check_sentencepiece_model(model, where);
  if (model_kind(model) != SentencePieceModel::Kind::kUnigram) {
    throw Error(ErrorKind::kUnsupported,
                concat(where, ": expected a unigram model, as ", whose, " is, found another kind"), hint);
  }
}

// The list of pieces and scores; control and user-defined ones become added tokens.
std::string pieces_text(const std::vector<Piece>& pieces, TokenizerSettings& settings, std::string_view where) {
  std::string text = "[";
  settings.extra.clear();
  for (const Piece& piece : pieces) {
    text += text.size() > 1 ? ",[" : "[";
    text += json_string(piece.text, where);
    text += ',';
    text += number_text(piece.score);
    text += ']';
    if (piece.type == PieceType::kControl || piece.type == PieceType::kUserDefined) {
      settings.extra.push_back({.content = piece.text, .special = piece.type == PieceType::kControl});
    }
  }
  return text + "]";
}

// Which of two equal pieces gives the id would be a guess.
TokenIds ids_of(const std::vector<Piece>& pieces, std::string_view where) {
  TokenIds ids;
  for (const Piece& piece : pieces) {
    if (!ids.emplace(piece.text, static_cast<std::int64_t>(ids.size())).second) {
      reject_model(where, "the piece ", quote(piece.text), " appears twice");
    }
  }
  return ids;
}

Json metaspace(const TokenizerSettings& settings) {
  return {{"type", "Metaspace"},
          {"replacement", kVisibleBlank},
          {"prepend_scheme", settings.prefix_space.value_or(true) ? "always" : "never"},
          {"split", true}};
}

std::string unigram_text(std::size_t unknown, const std::string& entries) {
  return concat(R"({"type":"Unigram","unk_id":)", unknown, R"(,"vocab":)", entries, R"(,"byte_fallback":false})");
}

// As BigBirdTokenizer finds it: the first such piece of score 0, else the place that it has in the released model.
std::size_t unknown_place(const std::vector<Piece>& pieces, const std::string& unknown) {
  constexpr std::size_t kReleased = 100;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].text == unknown && pieces[i].score == 0) {
      return i;
    }
  }
  return kReleased;
}

// What fairseq put in place of the first pieces of a model.
struct FairseqLayout {
  std::vector<Piece> own;
  std::size_t replaced = 0;                 ///< pieces
  bool code_first = false;                  ///< of the language, which is behind the text otherwise
  bool splits_words = true;                 ///< at white space; runs of blanks become one otherwise
  std::vector<std::string> languages = {};  ///< codes behind the pieces
};

std::vector<Piece> fairseq_pieces(std::string_view model, const FairseqLayout& layout,
                                  const TokenizerSettings& settings, std::string_view where) {
  constexpr std::array<std::string_view, 3> kFirst{"<unk>", "<s>", "</s>"};
  const std::vector<Piece> found = read_pieces(model);
  for (std::size_t i = 0; i < kFirst.size(); ++i) {
    if (i >= found.size() || found[i].text != kFirst[i]) {
      reject_model(where, "its first pieces must be ", joined(kFirst, ", "), ", but piece ", i, " is ",
                   i < found.size() ? quote(found[i].text) : "not there");
    }
  }
  std::vector<Piece> pieces = layout.own;
  pieces.insert(pieces.end(), found.begin() + static_cast<std::ptrdiff_t>(layout.replaced), found.end());
  for (const std::string& language : layout.languages) {
    pieces.push_back({.text = language});
  }
  pieces.push_back({.text = name_of(settings, SpecialRole::kMask)});
  return pieces;
}

// The model's character map, then words at white space.
Json map_and_words(std::string_view model, const TokenizerSettings& settings, const Json& processor,
                   std::string_view where) {
  const std::string_view map = SentencePieceModel(model, where).normalizer.character_map;
  const Json split = {{"type", "WhitespaceSplit"}};
  return {{"normalizer",
           map.empty() ? Json() : Json{{"type", "Precompiled"}, {"precompiled_charsmap", formats::base64(map)}}},
          {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", Json::array({split, metaspace(settings)})}}},
          {"post_processor", processor},
          {"decoder", metaspace(settings)}};
}

Json fairseq_processor(const TokenizerSettings& settings, const AddedTokens& added, const FairseqLayout& layout,
                       std::string_view where) {
  if (layout.languages.empty()) {
    return two_ends_processor(settings, added);
  }
  const std::string code = settings.source_language.empty() ? "en_XX" : settings.source_language;
  if (std::find(layout.languages.begin(), layout.languages.end(), code) == layout.languages.end()) {
    fail(ErrorKind::kFormat, where, ": src_lang of tokenizer_config.json is ", quote(code),
         ", which the vocabulary lacks");
  }
  return language_processor(settings, added, code, layout.code_first);
}

std::string compose_fairseq(std::string_view model, const FairseqLayout& layout, TokenizerSettings& settings,
                            std::string_view where) {
  constexpr std::size_t kUnknown = 3;
  const std::vector<Piece> pieces = fairseq_pieces(model, layout, settings, where);
  const std::string entries = pieces_text(pieces, settings, where);
  for (const std::string& language : layout.languages) {
    settings.extra.push_back({.content = language, .special = true});
  }
  const AddedTokens added(settings, ids_of(pieces, where), where);
  Json parts = map_and_words(model, settings, fairseq_processor(settings, added, layout, where), where);
  if (!layout.splits_words) {
    Json rules = Json::array();
    if (!parts["normalizer"].is_null()) {
      rules.push_back(parts["normalizer"]);
    }
    rules.push_back({{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}});
    parts["normalizer"] = {{"type", "Sequence"}, {"normalizers", rules}};
    parts["pre_tokenizer"] = metaspace(settings);
  }
  return assemble(parts, added, unigram_text(kUnknown, entries));
}

// T5's tokens for masked spans, in the order of their ids.
std::vector<std::string> span_tokens(const TokenizerSettings& settings) {
  constexpr std::int64_t kReleased = 100;
  std::vector<std::string> tokens;
  for (std::int64_t i = settings.extra_ids.value_or(kReleased); i-- > 0;) {
    tokens.push_back(concat("<extra_id_", i, '>'));
  }
  return tokens;
}

void name_fairseq_roles(TokenizerSettings& settings) {
  name_roles(settings, {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"});
  // As released. Release 5 of transformers leaves it out for XLM-RoBERTa, which changes the place of a mask by the
  // blank before it, and no id.
  settings.named[static_cast<std::size_t>(SpecialRole::kMask)]->strip_left = true;
}

}  // namespace

std::string compose_big_bird(std::string_view model, TokenizerSettings& settings, std::string_view where) {
  check_unigram(model, "BigBird's",
                concat("beside the config.json of a Reformer it is read as byte pairs; else ", kSaveOnce), where);
  name_roles(settings, {"<s>", "</s>", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"});
  const std::vector<Piece> pieces = read_pieces(model);
  const std::string entries = pieces_text(pieces, settings, where);
  const AddedTokens added(settings, ids_of(pieces, where), where);
  // Runs of blanks become one, and nothing else is normalised: not what the model file says, but what
  // BigBirdTokenizer does.
  const Json blanks = {{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", kVisibleBlank}};
  const Json strip = {{"type", "Strip"}, {"strip_left", false}, {"strip_right", false}};
  const Json parts = {{"normalizer", {{"type", "Sequence"}, {"normalizers", Json::array({strip, blanks})}}},
                      {"pre_tokenizer", metaspace(settings)},
                      {"post_processor", bert_processor(settings, added)},
                      {"decoder", metaspace(settings)}};
  return assemble(parts, added, unigram_text(unknown_place(pieces, name_of(settings, SpecialRole::kUnknown)), entries));
}

std::string compose_t5(std::string_view model, TokenizerSettings& settings, std::string_view where) {
  constexpr std::size_t kUnknown = 2;
  check_unigram(model, "T5's", kSaveOnce, where);
  name_roles(settings, {nullptr, "</s>", "<unk>", nullptr, "<pad>", nullptr, nullptr});
  std::vector<Piece> pieces = read_pieces(model);
  const TokenIds known = ids_of(pieces, where);
  std::vector<AddedToken> others = std::move(settings.extra);
  for (const std::string& token : span_tokens(settings)) {
    const auto is_there = [&](const AddedToken& other) { return other.content == token; };
    if (std::none_of(others.begin(), others.end(), is_there)) {
      others.push_back({.content = token, .special = true});
    }
    if (!known.contains(token)) {
      pieces.push_back({.text = token});
    }
  }
  const std::string entries = pieces_text(pieces, settings, where);
  settings.extra = std::move(others);  // what is special in the model's file has a role
  const AddedTokens added(settings, ids_of(pieces, where), where);
  const Json parts = map_and_words(model, settings, one_end_processor(settings, added), where);
  return assemble(parts, added, unigram_text(kUnknown, entries));
}

namespace {

FairseqLayout xlm_roberta_layout(TokenizerSettings& settings) {
  name_fairseq_roles(settings);
  return {.own = {{.text = name_of(settings, SpecialRole::kBegin)},
                  {.text = name_of(settings, SpecialRole::kPadding)},
                  {.text = name_of(settings, SpecialRole::kEnd)},
                  {.text = name_of(settings, SpecialRole::kUnknown)}},
          .replaced = 3};
}

/// The languages of mBART, and those that mBART-50 has behind them, in the order of their ids.
constexpr std::array kMbartLanguages{"ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN",
                                     "hi_IN", "it_IT", "ja_XX", "kk_KZ", "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP",
                                     "nl_XX", "ro_RO", "ru_RU", "si_LK", "tr_TR", "vi_VN", "zh_CN"};
constexpr std::array kMbart50Languages{"af_ZA", "az_AZ", "bn_IN", "fa_IR", "he_IL", "hr_HR", "id_ID", "ka_GE", "km_KH",
                                       "mk_MK", "ml_IN", "mn_MN", "mr_IN", "pl_PL", "ps_AF", "pt_XX", "sv_SE", "sw_KE",
                                       "ta_IN", "te_IN", "th_TH", "tl_XX", "uk_UA", "ur_PK", "xh_ZA", "gl_ES", "sl_SI"};

}  // namespace

std::string compose_xlm_roberta(std::string_view model, TokenizerSettings& settings, std::string_view where) {
  check_unigram(model, "XLM-RoBERTa's", kSaveOnce, where);
  return compose_fairseq(model, xlm_roberta_layout(settings), settings, where);
}

std::string compose_mbart(std::string_view model, TokenizerSettings& settings, std::string_view where) {
  check_unigram(model, "mBART's", kSaveOnce, where);
  FairseqLayout layout = xlm_roberta_layout(settings);
  layout.languages = {kMbartLanguages.begin(), kMbartLanguages.end()};
  return compose_fairseq(model, layout, settings, where);
}

std::string compose_mbart50(std::string_view model, TokenizerSettings& settings, std::string_view where) {
  check_unigram(model, "mBART-50's", kSaveOnce, where);
  FairseqLayout layout = xlm_roberta_layout(settings);
  layout.languages = {kMbartLanguages.begin(), kMbartLanguages.end()};
  layout.languages.insert(layout.languages.end(), kMbart50Languages.begin(), kMbart50Languages.end());
  layout.code_first = true;
  layout.splits_words = false;
  return compose_fairseq(model, layout, settings, where);
}

std::string compose_camembert(std::string_view model, TokenizerSettings& settings, std::string_view where) {
  check_unigram(model, "CamemBERT's", kSaveOnce, where);
  name_fairseq_roles(settings);
  // The pieces that the program wrote besides, which no text is made of; the unknown one is there twice.
  constexpr float kNeverChosen = -100;
  const FairseqLayout layout{.own = {{.text = "<s>NOTUSED"},
                                     {.text = name_of(settings, SpecialRole::kPadding)},
                                     {.text = "</s>NOTUSED"},
                                     {.text = name_of(settings, SpecialRole::kUnknown)},
                                     {.text = "<unk>NOTUSED", .score = kNeverChosen}},
                             .replaced = 1};
  return compose_fairseq(model, layout, settings, where);
}

}  // namespace weft::text
