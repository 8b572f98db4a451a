// SPDX-License-Identifier: Apache-2.0
// MarianTokenizer: two SentencePiece models, and one table of ids for both or one each.
#include <algorithm>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/text/pair/directory_files.h"
#include "weft/text/pair/piece_files.h"

namespace weft::text {
namespace {

constexpr const char* kSourceModel = "source.spm";
constexpr const char* kTargetModel = "target.spm";
constexpr const char* kVocabulary = "vocab.json";
constexpr const char* kTargetVocabulary = "target_vocab.json";

// Pieces and a table of two different models would make every text unknown.
void check_match(const SentencePieceProcessor& processor, const TokenIds& vocabulary, const std::string& where,
                 const char* pieces_file, const char* vocabulary_file) {
  const std::vector<Piece>& pieces = processor.model().pieces;
  const auto known =
      std::count_if(pieces.begin(), pieces.end(), [&](const Piece& piece) { return vocabulary.contains(piece.text); });
  if (known < static_cast<std::ptrdiff_t>(pieces.size() / 10)) {
    fail(ErrorKind::kFormat, where, ": ", vocabulary_file, " has ", known, " of the ", pieces.size(), " pieces of ",
         pieces_file, ": these are the files of two models");
  }
}

std::vector<std::string> written_codes(const TokenIds& vocabulary) {
  std::vector<std::string> codes;
  for (const auto& [token, id] : vocabulary) {
    if (token.size() > 4 && token.starts_with(">>") && token.ends_with("<<")) {
      codes.push_back(token);
    }
  }
  std::sort(codes.begin(), codes.end());
  return codes;
}

bool has_separate_tables(const formats::Json& config, const std::string& where) {
  const formats::Json field = config.value("separate_vocabs", formats::Json(false));
  if (!field.is_boolean() && !field.is_null()) {
    fail(ErrorKind::kFormat, where, ": tokenizer_config.json: separate_vocabs must be true or false, found ",
         field.type_name());
  }
  return field.is_boolean() && field.get<bool>();
}

// All of the directory, read and checked.
struct Marian {
  std::string where;
  bool separate = false;
  TokenizerFiles files;
  TokenizerSettings settings = {};
  std::shared_ptr<const TokenIds> source_ids = {};
  std::shared_ptr<const TokenIds> target_ids = {};  ///< the same object for both where they are not separate
  std::shared_ptr<const SentencePieceProcessor> source_model = {};
  std::shared_ptr<const SentencePieceProcessor> target_model = {};

  const char* target_table() const { return separate ? kTargetVocabulary : kVocabulary; }
};

Marian read(const std::filesystem::path& directory) {
  Marian marian;
  marian.where = quote(directory.native(), 4096);
  marian.files = read_pair_files(directory, {kSourceModel, kTargetModel, kVocabulary});
  marian.settings = read_tokenizer_settings(marian.files, marian.where);
  marian.separate = has_separate_tables(marian.settings.config, marian.where);
  if (marian.separate) {
    marian.files.merge(read_pair_files(directory, {kTargetVocabulary}));
  }
  name_role(marian.settings, SpecialRole::kUnknown, "<unk>");
  name_role(marian.settings, SpecialRole::kEnd, "</s>");
  name_role(marian.settings, SpecialRole::kPadding, "<pad>");
  const auto table = [&](const char* name) {
    return std::make_shared<const TokenIds>(
        read_vocabulary_json(marian.files.at(name), concat(marian.where, ": ", name)));
  };
  marian.source_ids = table(kVocabulary);
  marian.target_ids = marian.separate ? table(kTargetVocabulary) : marian.source_ids;
  marian.source_model = processor_of(marian.files, kSourceModel, marian.where);
  marian.target_model = processor_of(marian.files, kTargetModel, marian.where);
  check_match(*marian.source_model, *marian.source_ids, marian.where, kSourceModel, kVocabulary);
  check_match(*marian.target_model, *marian.target_ids, marian.where, kTargetModel, marian.target_table());
  return marian;
}

}  // namespace

bool is_marian(const std::filesystem::path& directory) { return ModelFile(directory, kSourceModel).exists(); }

PieceSides read_marian(const std::filesystem::path& directory) {
  Marian marian = read(directory);
  const AddedTokens added(marian.settings, *marian.source_ids, marian.where);
  PieceSides sides;  // filled in by statements: where an initialiser throws, GCC 12 destroys a member twice
  sides.end = added.id(name_of(marian.settings, SpecialRole::kEnd));
  sides.shared = !marian.separate;
  sides.language_codes = marian.separate ? std::vector<std::string>() : written_codes(*marian.source_ids);
  sides.source_language = text_member(marian.settings.config, "source_lang", marian.where);
  sides.target_language = text_member(marian.settings.config, "target_lang", marian.where);
  PieceParts parts{.kind = "marian",
                   .rules = {.language_codes = true, .clean_up = marian.settings.clean_up},
                   .cut = marian.source_model,
                   .join = marian.source_model,
                   .cutter = cutter_of(added, marian.where),
                   .numbers = marian.source_ids,
                   .unknown = name_of(marian.settings, SpecialRole::kUnknown),
                   .files = std::make_shared<const TokenizerFiles>(std::move(marian.files))};
  sides.source = std::make_shared<const PieceTokenizer>(parts, concat(marian.where, ": ", kVocabulary));
  parts.cut = marian.target_model;
  // With one table for both, what the model wrote is joined by the rules of the source.
  parts.join = marian.separate ? marian.target_model : marian.source_model;
  parts.numbers = marian.target_ids;
  sides.target = std::make_shared<const PieceTokenizer>(parts, concat(marian.where, ": ", marian.target_table()));
  sides.settings = std::move(marian.settings);
  return sides;
}

}  // namespace weft::text
