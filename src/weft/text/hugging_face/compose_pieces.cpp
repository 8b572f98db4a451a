// SPDX-License-Identifier: Apache-2.0
// SentencePiece models of BigBird, DeBERTa, T5, XLM-RoBERTa, mBART, NLLB and CamemBERT as a tokenizer.json. In those of
// the last four a family's own tokens replace the model's first pieces and shift the ids of the others, as in fairseq,
// where they were trained.
#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <unordered_set>
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
void check_kind(std::string_view model, SentencePieceModel::Kind kind, const char* whose, const std::string& hint,
                std::string_view where) {
  check_sentencepiece_model(model, where);
  if (model_kind(model) != kind) {
    throw Error(ErrorKind::kUnsupported,
                concat(where, ": expected a ", kind == SentencePieceModel::Kind::kUnigram ? "unigram" : "byte-pair",
                       " model, as ", whose, " is, found another kind"),
                hint);
  }
}

void check_unigram(std::string_view model, const char* whose, const std::string& hint, std::string_view where) {
  check_kind(model, SentencePieceModel::Kind::kUnigram, whose, hint, where);
}

// Control and user-defined pieces.
std::vector<AddedToken> declared_tokens(const std::vector<Piece>& pieces) {
  std::vector<AddedToken> tokens;
  for (const Piece& piece : pieces) {
    if (piece.type == PieceType::kControl || piece.type == PieceType::kUserDefined) {
      tokens.push_back({.content = piece.text, .special = piece.type == PieceType::kControl});
    }
  }
  return tokens;
}

// The list of pieces and scores.
std::string pieces_text(const std::vector<Piece>& pieces, std::string_view where) {
  std::string text = "[";
  for (const Piece& piece : pieces) {
    text += text.size() > 1 ? ",[" : "[";
    text += json_string(piece.text, where);
    text += ',';
    text += number_text(piece.score);
    text += ']';
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

// Every way to make a piece of two others, in the order of the pieces: what was learned first is joined first.
std::string merges_text(const std::vector<Piece>& pieces, std::string_view where) {
  std::unordered_set<std::string_view> known;
  known.reserve(pieces.size());
  for (const Piece& piece : pieces) {
    known.insert(piece.text);
  }
  std::string text = "[";
  for (const Piece& piece : pieces) {
    const std::string_view whole = piece.text;
    for (std::size_t cut = 1; cut < whole.size(); ++cut) {
      const bool inside = (static_cast<unsigned char>(whole[cut]) & 0xC0U) == 0x80U;  // of a letter
      if (!inside && known.contains(whole.substr(0, cut)) && known.contains(whole.substr(cut))) {
        text += concat(text.size() > 1 ? "," : "", "[", json_string(whole.substr(0, cut), where), ",",
                       json_string(whole.substr(cut), where), "]");
      }
    }
  }
  return text + "]";
}

// `pieces` in the order of their ids, `merged` those of the model itself.
std::string joined_pieces_text(const std::vector<Piece>& pieces, const std::vector<Piece>& merged,
                               const TokenizerSettings& settings, std::string_view where) {
  std::string words = "{";
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    words += concat(id > 0 ? "," : "", json_string(pieces[id].text, where), ":", id);
  }
  return concat(R"({"type":"BPE","dropout":null,"unk_token":)",
                json_string(name_of(settings, SpecialRole::kUnknown), where),
                R"(,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":false,)",
                R"("vocab":)", words, R"(},"merges":)", merges_text(merged, where), "}");
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
  std::size_t replaced = 0;                   ///< pieces
  bool code_first = false;                    ///< of the language, which is behind the text otherwise
  bool splits_words = true;                   ///< at white space; runs of blanks become one otherwise
  std::vector<std::string> languages = {};    ///< codes behind the pieces
  std::string_view usual_language = "en_XX";  ///< of a source where the files name none
  bool has_byte_pairs = false;                ///< a unigram model otherwise
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
  const std::string code =
      settings.source_language.empty() ? std::string(layout.usual_language) : settings.source_language;
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
  settings.extra = declared_tokens(pieces);
  for (const std::string& language : layout.languages) {
    settings.extra.push_back({.content = language, .special = true});
  }
  const AddedTokens added(settings, ids_of(pieces, where), where);
  Json parts = map_and_words(model, settings, fairseq_processor(settings, added, layout, where), where);
  if (!layout.splits_words) {
    Json rules = Json::array();
    const bool has_map = !parts["normalizer"].is_null();
    if (has_map) {
      rules.push_back(parts["normalizer"]);
    }
    if (has_map || !layout.has_byte_pairs) {  // NllbTokenizer leaves runs of blanks to a model that maps nothing
      rules.push_back({{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}});
    }
    parts["normalizer"] = rules.empty() ? Json() : Json{{"type", "Sequence"}, {"normalizers", rules}};
    parts["pre_tokenizer"] = metaspace(settings);
  }
  return assemble(parts, added,
                  layout.has_byte_pairs ? joined_pieces_text(pieces, read_pieces(model), settings, where)
                                        : unigram_text(kUnknown, pieces_text(pieces, where)));
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
  settings.extra = declared_tokens(pieces);
  const std::string entries = pieces_text(pieces, where);
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

// By the model's own character map, which the published models learned with. Release 5 of transformers composes
// characters (NFC) in its place, which gives other ids.
std::string compose_deberta(std::string_view model, TokenizerSettings& settings, std::string_view where) {
  check_unigram(model, "DeBERTa's", kSaveOnce, where);
  name_roles(settings, {"[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"});
  const SentencePieceModel found(model, where);
  settings.extra = declared_tokens(found.pieces);
  const AddedTokens added(settings, ids_of(found.pieces, where), where);
  Json rules = Json::array();
  if (settings.lower_case.value_or(false)) {
    rules.push_back({{"type", "Lowercase"}});
  }
  rules.push_back({{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}});
  if (!found.normalizer.character_map.empty()) {
    rules.push_back(
        {{"type", "Precompiled"}, {"precompiled_charsmap", formats::base64(found.normalizer.character_map)}});
  }
  rules.push_back({{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}});
  Json cuts = Json::array();
  if (settings.split_punctuation) {
    cuts.push_back({{"type", "Punctuation"}, {"behavior", "Isolated"}});
  }
  cuts.push_back(metaspace(settings));
  const Json parts = {{"normalizer", {{"type", "Sequence"}, {"normalizers", rules}}},
                      {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", cuts}}},
                      {"post_processor", bert_processor(settings, added)},
                      {"decoder", metaspace(settings)}};
  return assemble(parts, added,
                  unigram_text(static_cast<std::size_t>(found.unknown), pieces_text(found.pieces, where)));
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
  const std::string entries = pieces_text(pieces, where);
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
/// Those of NLLB-200, in the order of their ids.
constexpr std::array kNllbLanguages{
    "ace_Arab", "ace_Latn", "acm_Arab", "acq_Arab", "aeb_Arab", "afr_Latn", "ajp_Arab", "aka_Latn", "amh_Ethi",
    "apc_Arab", "arb_Arab", "ars_Arab", "ary_Arab", "arz_Arab", "asm_Beng", "ast_Latn", "awa_Deva", "ayr_Latn",
    "azb_Arab", "azj_Latn", "bak_Cyrl", "bam_Latn", "ban_Latn", "bel_Cyrl", "bem_Latn", "ben_Beng", "bho_Deva",
    "bjn_Arab", "bjn_Latn", "bod_Tibt", "bos_Latn", "bug_Latn", "bul_Cyrl", "cat_Latn", "ceb_Latn", "ces_Latn",
    "cjk_Latn", "ckb_Arab", "crh_Latn", "cym_Latn", "dan_Latn", "deu_Latn", "dik_Latn", "dyu_Latn", "dzo_Tibt",
    "ell_Grek", "eng_Latn", "epo_Latn", "est_Latn", "eus_Latn", "ewe_Latn", "fao_Latn", "pes_Arab", "fij_Latn",
    "fin_Latn", "fon_Latn", "fra_Latn", "fur_Latn", "fuv_Latn", "gla_Latn", "gle_Latn", "glg_Latn", "grn_Latn",
    "guj_Gujr", "hat_Latn", "hau_Latn", "heb_Hebr", "hin_Deva", "hne_Deva", "hrv_Latn", "hun_Latn", "hye_Armn",
    "ibo_Latn", "ilo_Latn", "ind_Latn", "isl_Latn", "ita_Latn", "jav_Latn", "jpn_Jpan", "kab_Latn", "kac_Latn",
    "kam_Latn", "kan_Knda", "kas_Arab", "kas_Deva", "kat_Geor", "knc_Arab", "knc_Latn", "kaz_Cyrl", "kbp_Latn",
    "kea_Latn", "khm_Khmr", "kik_Latn", "kin_Latn", "kir_Cyrl", "kmb_Latn", "kon_Latn", "kor_Hang", "kmr_Latn",
    "lao_Laoo", "lvs_Latn", "lij_Latn", "lim_Latn", "lin_Latn", "lit_Latn", "lmo_Latn", "ltg_Latn", "ltz_Latn",
    "lua_Latn", "lug_Latn", "luo_Latn", "lus_Latn", "mag_Deva", "mai_Deva", "mal_Mlym", "mar_Deva", "min_Latn",
    "mkd_Cyrl", "plt_Latn", "mlt_Latn", "mni_Beng", "khk_Cyrl", "mos_Latn", "mri_Latn", "zsm_Latn", "mya_Mymr",
    "nld_Latn", "nno_Latn", "nob_Latn", "npi_Deva", "nso_Latn", "nus_Latn", "nya_Latn", "oci_Latn", "gaz_Latn",
    "ory_Orya", "pag_Latn", "pan_Guru", "pap_Latn", "pol_Latn", "por_Latn", "prs_Arab", "pbt_Arab", "quy_Latn",
    "ron_Latn", "run_Latn", "rus_Cyrl", "sag_Latn", "san_Deva", "sat_Beng", "scn_Latn", "shn_Mymr", "sin_Sinh",
    "slk_Latn", "slv_Latn", "smo_Latn", "sna_Latn", "snd_Arab", "som_Latn", "sot_Latn", "spa_Latn", "als_Latn",
    "srd_Latn", "srp_Cyrl", "ssw_Latn", "sun_Latn", "swe_Latn", "swh_Latn", "szl_Latn", "tam_Taml", "tat_Cyrl",
    "tel_Telu", "tgk_Cyrl", "tgl_Latn", "tha_Thai", "tir_Ethi", "taq_Latn", "taq_Tfng", "tpi_Latn", "tsn_Latn",
    "tso_Latn", "tuk_Latn", "tum_Latn", "tur_Latn", "twi_Latn", "tzm_Tfng", "uig_Arab", "ukr_Cyrl", "umb_Latn",
    "urd_Arab", "uzn_Latn", "vec_Latn", "vie_Latn", "war_Latn", "wol_Latn", "xho_Latn", "ydd_Hebr", "yor_Latn",
    "yue_Hant", "zho_Hans", "zho_Hant", "zul_Latn"};

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

std::string compose_nllb(std::string_view model, TokenizerSettings& settings, std::string_view where) {
  check_kind(model, SentencePieceModel::Kind::kBytePairs, "NLLB's", kSaveOnce, where);
  FairseqLayout layout = xlm_roberta_layout(settings);
  layout.languages = {kNllbLanguages.begin(), kNllbLanguages.end()};
  layout.usual_language = "eng_Latn";
  layout.code_first = true;
  layout.splits_words = false;
  layout.has_byte_pairs = true;
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
