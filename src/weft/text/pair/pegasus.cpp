// SPDX-License-Identifier: Apache-2.0
// PegasusTokenizer as transformers up to release 4 reads spiece.model: the pieces of the SentencePiece library, 103 ids
// up. Release 5 puts the ids of BigBird-Pegasus one off and loses characters (docs/tokenizers.md has its differences).
#include <optional>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/text/pair/directory_files.h"
#include "weft/text/pair/piece_files.h"

namespace weft::text {
namespace {

using formats::Json;

constexpr const char* kModel = "spiece.model";

// How many ids of the family's own come before those of the model: 103, or 0 where the model has these tokens itself.
std::int64_t offset_of(const Json& config, const SentencePieceModel& model, const std::string& where) {
  constexpr std::int64_t kOffset = 103;
  constexpr std::int64_t kMost = 10000;
  const Json given = config.value("offset", Json());
  if (given.is_null()) {
    return model.unknown >= kOffset ? 0 : kOffset;
  }
  const std::int64_t offset = given.is_number_integer() ? given.get<std::int64_t>() : -1;
  if (offset < 0 || offset > kMost) {
    fail(ErrorKind::kFormat, where, ": tokenizer_config.json: offset must be an integer from 0 to ", kMost);
  }
  return offset;
}

// The mask of sentences, which null says that there is not.
std::optional<std::string> sentence_mask_of(const Json& config, const std::string& where) {
  const auto found = config.find("mask_token_sent");
  if (found == config.end()) {
    return "<mask_1>";
  }
  const Json& name = found->is_object() && found->contains("content") ? (*found)["content"] : *found;
  if (!name.is_string() && !name.is_null()) {
    fail(ErrorKind::kFormat, where, ": tokenizer_config.json: mask_token_sent must be a string, found ",
         name.type_name());
  }
  return name.is_string() ? std::optional(name.get<std::string>()) : std::nullopt;
}

// The family's own tokens by id: pad, end, the masks, and `<unk_2>` to `<unk_102>`, which nothing uses. A table that
// was saved with a model counts where it says otherwise.
std::vector<std::string> own_tokens(const TokenizerSettings& settings, const std::optional<std::string>& sentence_mask,
                                    std::int64_t offset) {
  std::vector<std::string> tokens = {name_of(settings, SpecialRole::kPadding), name_of(settings, SpecialRole::kEnd)};
  if (sentence_mask) {
    tokens.push_back(*sentence_mask);
    tokens.push_back(name_of(settings, SpecialRole::kMask));
  }
  for (std::int64_t i = 2; i < offset; ++i) {
    tokens.push_back(concat("<unk_", i, '>'));
  }
  for (const auto& [id, token] : settings.added) {
    if (id < static_cast<std::int64_t>(tokens.size())) {
      tokens[static_cast<std::size_t>(id)] = token.content;
    }
  }
  return tokens;
}

// Ids of the model's pieces; behind the family's own tokens, which replace its pad and end.
TokenIds numbered(const std::vector<Piece>& pieces, const std::vector<std::string>& own, std::int64_t offset) {
  TokenIds ids;
  for (std::size_t i = 0; i < own.size(); ++i) {
    ids.emplace(own[i], static_cast<std::int64_t>(i));
  }
  for (std::size_t i = own.empty() ? 0 : 2; i < pieces.size(); ++i) {
    ids.emplace(pieces[i].text, static_cast<std::int64_t>(i) + offset);
  }
  return ids;
}

}  // namespace

bool is_pegasus(const std::filesystem::path& directory) {
  if (!ModelFile(directory, kModel).exists() || ModelFile(directory, "tokenizer.json").exists()) {
    return false;
  }
  const std::string where = quote(directory.native(), 4096);
  const std::string name = read_tokenizer_settings(read_pair_files(directory, {}), where).tokenizer_class;
  if (!name.empty()) {
    return without_fast(name) == "PegasusTokenizer";
  }
  const std::string type = model_type_in(directory);
  return type == "pegasus" || type == "bigbird_pegasus";
}

PieceSides read_pegasus(const std::filesystem::path& directory) {
  const std::string where = quote(directory.native(), 4096);
  TokenizerFiles files = read_pair_files(directory, {kModel});
  TokenizerSettings settings = read_tokenizer_settings(files, where);
  name_role(settings, SpecialRole::kPadding, "<pad>");
  name_role(settings, SpecialRole::kEnd, "</s>");
  name_role(settings, SpecialRole::kUnknown, "<unk>");
  const auto model = processor_of(files, kModel, where);
  const std::int64_t offset = offset_of(settings.config, model->model(), where);
  std::vector<std::string> own;
  if (offset > 0) {
    name_role(settings, SpecialRole::kMask, "<mask_2>");
    own = own_tokens(settings, sentence_mask_of(settings.config, where), offset);
  }
  const auto ids = std::make_shared<const TokenIds>(numbered(model->model().pieces, own, offset));
  for (const std::string& token : own) {
    settings.extra.push_back({.content = token, .special = true});
  }
  const AddedTokens added(settings, *ids, where);
  const PieceParts parts{.kind = "pegasus",
                         .rules = {.newlines_to_blanks = true, .clean_up = settings.clean_up},
                         .cut = model,
                         .join = model,
                         .cutter = cutter_of(added, where),
                         .numbers = ids,
                         .unknown = name_of(settings, SpecialRole::kUnknown),
                         .files = std::make_shared<const TokenizerFiles>(std::move(files))};
  PieceSides sides;
  sides.end = added.id(name_of(settings, SpecialRole::kEnd));
  sides.settings = std::move(settings);
  sides.source = sides.target = std::make_shared<const PieceTokenizer>(parts, concat(where, ": ", kModel));
  return sides;
}

}  // namespace weft::text
