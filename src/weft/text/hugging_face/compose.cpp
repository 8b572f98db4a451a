// SPDX-License-Identifier: Apache-2.0
// BertTokenizer, RobertaTokenizer and BigBirdTokenizer of transformers 5, written down as the JSON that their Rust part
// is made from.
#include "weft/text/hugging_face/compose.h"

#include <charconv>
#include <iterator>
#include <vector>

#include "weft/core/error.h"
#include "weft/formats/config_json.h"
#include "weft/text/hugging_face/vocabulary.h"
#include "weft/text/sentencepiece/model.h"
#include "weft/text/sentencepiece_check.h"

namespace weft::text {
namespace {

using formats::Json;
using formats::print_json;

// A score as exactly as a double holds it.
std::string number_text(float value) {
  char digits[32];
  const auto result = std::to_chars(std::begin(digits), std::end(digits), static_cast<double>(value));
  return {std::begin(digits), result.ptr};
}

// What a family gives where the files say nothing.
void name_roles(TokenizerSettings& settings, const std::array<const char*, kSpecialRoles>& names) {
  for (std::size_t role = 0; role < kSpecialRoles; ++role) {
    if (!settings.named[role] && names[role] != nullptr) {
      settings.named[role] = AddedToken{.content = names[role], .special = true};
    }
  }
}

// The whole file: `parts` without the model, whose text may be long and is put in as it is.
std::string assemble(Json parts, const AddedTokens& added, const std::string& model) {
  // Truncation and padding belong to a call, not to the tokeniser.
  Json head = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}, {"added_tokens", added.json()}};
  head.update(parts);
  std::string text = print_json(head);
  text.pop_back();
  return text + ",\"model\":" + model + "}";
}

// [CLS] A [SEP] and [CLS] A [SEP] B [SEP].
Json bert_template(const TokenizerSettings& settings, const AddedTokens& added) {
  const std::string& cls = name_of(settings, SpecialRole::kClass);
  const std::string& sep = name_of(settings, SpecialRole::kSeparator);
  const auto special = [](const std::string& name, int type) {
    return Json{{"SpecialToken", {{"id", name}, {"type_id", type}}}};
  };
  const auto sequence = [](const char* name, int type) {
    return Json{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  const auto entry = [&](const std::string& name) {
    return Json{{"id", name}, {"ids", Json::array({added.id(name)})}, {"tokens", Json::array({name})}};
  };
  Json single = Json::array({special(cls, 0), sequence("A", 0), special(sep, 0)});
  Json pair = single;
  pair.push_back(sequence("B", 1));
  pair.push_back(special(sep, 1));
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", pair},
          {"special_tokens", {{cls, entry(cls)}, {sep, entry(sep)}}}};
}

// {"token":id,...}: an object in between would search all its keys for each one.
std::string vocabulary_text(const TokenIds& ids, std::string_view where) {
  std::string text = "{";
  for (const auto& [token, id] : ids) {
    text += text.size() > 1 ? "," : "";
    text += json_string(token, where);
    text += ':';
    text += std::to_string(id);
  }
  return text + "}";
}

Json byte_level(bool prefix_space) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", prefix_space}, {"trim_offsets", true}, {"use_regex", true}};
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

}  // namespace

std::string compose_bert(std::string_view vocabulary, TokenizerSettings& settings, std::string_view where) {
  name_roles(settings, {nullptr, nullptr, "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"});
  const TokenIds ids = read_vocabulary_lines(vocabulary);
  const AddedTokens added(settings, ids, where);
  // null lets lowercase decide, as in the original BERT.
  const Json strip = settings.strip_accents ? Json(*settings.strip_accents) : Json(nullptr);
  const Json parts = {{"normalizer",
                       {{"type", "BertNormalizer"},
                        {"clean_text", true},
                        {"handle_chinese_chars", settings.chinese_characters},
                        {"strip_accents", strip},
                        {"lowercase", settings.lower_case}}},
                      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                      {"post_processor", bert_template(settings, added)},
                      {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}}};
  const std::string model = concat(
      R"({"type":"WordPiece","unk_token":)", json_string(name_of(settings, SpecialRole::kUnknown), where),
      R"(,"continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":)", vocabulary_text(ids, where), "}");
  return assemble(parts, added, model);
}

std::string compose_roberta(std::string_view vocabulary, std::string_view merges, TokenizerSettings& settings,
                            std::string_view where) {
  name_roles(settings, {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"});
  const TokenIds ids = read_vocabulary_json(vocabulary, concat(where, ": vocab.json"));
  const AddedTokens added(settings, ids, where);
  const bool prefix = settings.prefix_space.value_or(false);
  const std::string& sep = name_of(settings, SpecialRole::kSeparator);
  const std::string& cls = name_of(settings, SpecialRole::kClass);
  const Json parts = {{"normalizer", nullptr},
                      {"pre_tokenizer", byte_level(prefix)},
                      {"post_processor",
                       {{"type", "RobertaProcessing"},
                        {"sep", Json::array({sep, added.id(sep)})},
                        {"cls", Json::array({cls, added.id(cls)})},
                        {"trim_offsets", settings.trim_offsets},
                        {"add_prefix_space", prefix}}},
                      {"decoder", byte_level(true)}};
  const std::string model =
      concat(R"({"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":"",)",
             R"("end_of_word_suffix":"","fuse_unk":false,"byte_fallback":false,)", R"("ignore_merges":false,"vocab":)",
             vocabulary, R"(,"merges":)", merges_as_json(merges, concat(where, ": merges.txt")), "}");
  return assemble(parts, added, model);
}

std::string compose_words(std::string_view vocabulary, TokenizerSettings& settings, std::string_view where) {
  const TokenIds ids = read_vocabulary_json(vocabulary, where);
  const bool has_end = ids.contains("<eos>");  // a word like others: a text goes on behind it
  const char* unknown = ids.contains("<unk>") ? "<unk>" : ids.contains("<UNK>") ? "<UNK>" : nullptr;
  name_roles(settings, {nullptr, nullptr, unknown, nullptr, nullptr, nullptr, nullptr});
  const AddedTokens added(settings, ids, where);
  const auto replace = [](const char* pattern, const char* content) {
    return Json{{"type", "Replace"}, {"pattern", {{"String", pattern}}}, {"content", content}};
  };
  // Words are joined with blanks by a decoder for pieces whose prefix no word has.
  const Json blanks = {{"type", "WordPiece"}, {"prefix", "\u0001"}, {"cleanup", false}};
  const Json lines = Json::array({blanks, replace(" <eos>", "\n"), replace("<eos>", "\n")});
  Json parts = {{"normalizer", nullptr},
                {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                {"post_processor", nullptr},
                {"decoder", blanks}};
  if (has_end) {
    parts["normalizer"] = replace("\n", " <eos> ");
    parts["decoder"] = {{"type", "Sequence"}, {"decoders", lines}};
  }
  return assemble(parts, added,
                  concat(R"({"type":"WordLevel","vocab":)", vocabulary, R"(,"unk_token":)",
                         unknown == nullptr ? R"("<unk>")" : json_string(unknown, where), "}"));
}

std::string compose_big_bird(std::string_view model, TokenizerSettings& settings, std::string_view where) {
  check_sentencepiece_model(model, where);
  if (model_kind(model) != SentencePieceModel::Kind::kUnigram) {
    throw Error(ErrorKind::kUnsupported,
                concat(where, ": spiece.model: expected a unigram model, as BigBird's is, found another kind"),
                "beside the config.json of a Reformer it is read as byte pairs; else save the tokeniser once with "
                "transformers, which writes tokenizer.json");
  }
  name_roles(settings, {"<s>", "</s>", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"});
  const std::vector<Piece> pieces = read_pieces(model);
  const std::string entries = pieces_text(pieces, settings, where);
  // Which of two equal pieces gives the id would be a guess.
  TokenIds ids;
  for (const Piece& piece : pieces) {
    ids.emplace(piece.text, static_cast<std::int64_t>(ids.size()));
  }
  if (ids.size() != pieces.size()) {
    fail(ErrorKind::kFormat, where, ": not a sound SentencePiece model: a piece appears twice");
  }
  const AddedTokens added(settings, ids, where);
  const Json metaspace = {{"type", "Metaspace"},
                          {"replacement", "\u2581"},
                          {"prepend_scheme", settings.prefix_space.value_or(true) ? "always" : "never"},
                          {"split", true}};
  // Runs of blanks become one, and nothing else is normalised: not what the model file says, but what
  // BigBirdTokenizer does.
  const Json blanks = {{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", "\u2581"}};
  const Json strip = {{"type", "Strip"}, {"strip_left", false}, {"strip_right", false}};
  const Json parts = {{"normalizer", {{"type", "Sequence"}, {"normalizers", Json::array({strip, blanks})}}},
                      {"pre_tokenizer", metaspace},
                      {"post_processor", bert_template(settings, added)},
                      {"decoder", metaspace}};
  const std::size_t unknown = unknown_place(pieces, name_of(settings, SpecialRole::kUnknown));
  return assemble(
      parts, added,
      concat(R"({"type":"Unigram","unk_id":)", unknown, R"(,"vocab":)", entries, R"(,"byte_fallback":false})"));
}

}  // namespace weft::text
