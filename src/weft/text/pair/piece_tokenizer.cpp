// SPDX-License-Identifier: Apache-2.0
// The order of steps is that of transformers' MarianTokenizer: added tokens, language code, pieces, numbers.
#include "weft/text/pair/piece_tokenizer.h"

#include <algorithm>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/text/hugging_face/texts.h"
#include "weft/text/utf8.h"

namespace weft::text {
namespace {

// `text` with a blank for each U+2581 that joining has left, in pieces that the model of the other side made.
std::string with_blanks(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = text.find(kVisibleBlank); at != std::string_view::npos; at = text.find(kVisibleBlank)) {
    result += text.substr(0, at);
    result += ' ';
    text.remove_prefix(at + kVisibleBlank.size());
  }
  return result += text;
}

}  // namespace

PieceTokenizer::PieceTokenizer(PieceParts parts, const std::string& where) : parts_(std::move(parts)) {
  // Vocabularies are dense; a single id of two billion would take as much memory as the ids below it.
  const std::size_t count = parts_.numbers->size() + parts_.cutter->tokens().size();
  const auto most = static_cast<std::int64_t>(2 * count + 65536);
  const auto place = [&](std::string_view token, std::int64_t id) -> std::string_view& {
    if (id >= most) {
      fail(ErrorKind::kFormat, where, ": the token ", quote(token), " has the id ", id, ", too many for ", count,
           " tokens");
    }
    tokens_.resize(std::max(tokens_.size(), static_cast<std::size_t>(id) + 1));
    return tokens_[static_cast<std::size_t>(id)];
  };
  for (const auto& [token, id] : *parts_.numbers) {
    const std::string_view before = std::exchange(place(token, id), token);
    if (!before.empty()) {
      fail(ErrorKind::kFormat, where, ": the tokens ", quote(before), " and ", quote(token), " have the same id ", id);
    }
  }
  ids_.insert(parts_.numbers->begin(), parts_.numbers->end());
  const auto unknown = ids_.find(parts_.unknown);
  if (unknown == ids_.end()) {
    fail(ErrorKind::kFormat, where, ": the vocabulary lacks the unknown token ", quote(parts_.unknown));
  }
  unknown_ = unknown->second;
  for (const auto& [id, token] : parts_.cutter->tokens()) {
    place(token.content, id) = token.content;
    ids_[token.content] = id;
    special_.resize(tokens_.size());
    special_[static_cast<std::size_t>(id)] = token.special;
  }
  special_.resize(tokens_.size());
}

std::int64_t PieceTokenizer::id(std::string_view piece) const {
  const auto found = ids_.find(piece);
  return found != ids_.end() ? found->second : unknown_;
}

std::string PieceTokenizer::token(std::int64_t id) const {
  const std::int64_t size = vocabulary_size();
  require(id >= 0 && id < size && !tokens_[static_cast<std::size_t>(id)].empty(), "no token has the id ", id,
          " in a vocabulary of ", size);
  return std::string(tokens_[static_cast<std::size_t>(id)]);
}

bool PieceTokenizer::is_special(std::int64_t id) const {
  return id >= 0 && id < vocabulary_size() && special_[static_cast<std::size_t>(id)];
}

void PieceTokenizer::encode_stretch(std::string_view text, bool with_code, std::vector<std::int64_t>& ids) const {
  constexpr std::string_view kEndOfCode = "<<";
  const std::size_t end = text.starts_with(">>") ? text.find(kEndOfCode) : std::string_view::npos;
  if (with_code && parts_.rules.language_codes && end != std::string_view::npos) {
    ids.push_back(id(text.substr(0, end + kEndOfCode.size())));
    text.remove_prefix(end + kEndOfCode.size());
  }
  parts_.cut->encode(text, [&](std::string_view piece, std::int32_t) { ids.push_back(id(piece)); });
}

// The text as it is cut into tokens and pieces; empty where it stays as it is.
std::string PieceTokenizer::changed_text(std::string_view text) const {
  std::string changed = valid_text(text);
  if (parts_.rules.newlines_to_blanks) {
    changed = changed.empty() ? std::string(text) : std::move(changed);
    std::replace(changed.begin(), changed.end(), '\n', ' ');
  }
  return changed;
}

std::vector<std::int64_t> PieceTokenizer::ids_of(const std::vector<TextPart>& parts, bool with_code) const {
  std::vector<std::int64_t> ids;
  for (const TextPart& part : parts) {
    if (part.id >= 0) {
      ids.push_back(part.id);
    } else {
      encode_stretch(part.text, with_code, ids);
    }
  }
  return ids;
}

std::vector<std::int64_t> PieceTokenizer::encode(std::string_view text) const {
  const std::string changed = changed_text(text);
  return ids_of((*parts_.cutter)(changed.empty() ? text : std::string_view(changed)), true);
}

std::vector<std::int64_t> PieceTokenizer::encode_plain(std::string_view text, bool with_code) const {
  const std::string changed = changed_text(text);
  const std::string_view whole = changed.empty() ? text : std::string_view(changed);
  std::vector<TextPart> parts = (*parts_.cutter)(whole);
  if (std::any_of(parts.begin(), parts.end(), [&](const TextPart& part) { return is_special(part.id); })) {
    parts = {{std::string(whole), -1}};
  }
  return ids_of(parts, with_code);
}

std::string PieceTokenizer::joined_text(const std::vector<std::int64_t>& ids, bool skip_special) const {
  std::string text;
  std::vector<std::string_view> run;
  const auto end_run = [&] {
    text += parts_.join->decode(run.size(), [&](std::size_t i) { return run[i]; });
    run.clear();
  };
  const std::int64_t size = vocabulary_size();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::int64_t id = ids[i];
    require(id >= 0 && id < size && !tokens_[static_cast<std::size_t>(id)].empty(), "token ", i, " is ", id,
            ", but no token of the vocabulary has that id");
    const std::string_view token = tokens_[static_cast<std::size_t>(id)];
    if (!special_[static_cast<std::size_t>(id)]) {
      run.push_back(token);
    } else if (!skip_special) {
      end_run();
      text += token;
      // Pegasus' next piece begins with its own blank.
      text += parts_.rules.language_codes ? " " : "";
    }
  }
  end_run();
  return with_blanks(text);
}

std::string PieceTokenizer::decode(const std::vector<std::int64_t>& ids) const { return joined_text(ids, false); }

std::string PieceTokenizer::display(const std::vector<std::int64_t>& ids) const {
  std::string text(strip_right(strip_left(joined_text(ids, true))));
  return parts_.rules.clean_up ? cleaned_up(std::move(text)) : text;
}

void PieceTokenizer::save(const std::filesystem::path& directory) const {
  for (const auto& [name, content] : *parts_.files) {
    write_file_atomically(directory / name, content);
  }
}

}  // namespace weft::text
