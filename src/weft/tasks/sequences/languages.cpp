// SPDX-License-Identifier: Apache-2.0
// A model of one pair of languages has no codes, and perhaps names in tokenizer_config.json; one of several has codes.
#include "weft/tasks/sequences/languages.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"

namespace weft::tasks {
namespace {

std::size_t blanks_before(std::string_view text) { return std::min(text.find_first_not_of(" \t"), text.size()); }

// The language that the directory names, against the one that was asked for.
void check_language(const SequenceModel& model, const char* side, const std::string& named, const std::string& asked) {
  if (asked.empty() || asked == named) {
    return;
  }
  require(named.empty(), model.name, ": the model's ", side, " language is ", Quoted(named), ", not ", Quoted(asked));
  log_warning(model.name, " does not name its ", side, " language: whether that is ", quote(asked),
              " cannot be checked");
}

// The first of them, and how many others there are.
std::string some_of(std::vector<std::string> names) {
  constexpr std::size_t kMost = 12;
  const std::size_t others = names.size() - std::min(kMost, names.size());
  names.resize(names.size() - others);
  return joined(names, ", ", [](const std::string& name) { return quote(name); }) +
         (others > 0 ? concat(" and ", others, " others") : std::string());
}

}  // namespace

std::string some_codes(const std::vector<std::string>& codes) {
  std::vector<std::string> names;
  names.reserve(codes.size());
  for (const std::string& code : codes) {
    names.push_back(code.substr(2, code.size() - 4));
  }
  return some_of(std::move(names));
}

std::string own_code(const std::string& text, const std::vector<std::string>& codes) {
  const std::string_view begin = std::string_view(text).substr(blanks_before(text));
  const auto found =
      std::find_if(codes.begin(), codes.end(), [&](const std::string& code) { return begin.starts_with(code); });
  return found == codes.end() ? std::string() : *found;
}

std::size_t behind_code(const std::string& text, const std::string& code) {
  if (code.empty()) {
    return 0;
  }
  const std::size_t end = blanks_before(text) + code.size();
  return end + blanks_before(std::string_view(text).substr(end));
}

void check_own_code(const SequenceModel& model, const std::string& text, const std::string& name) {
  constexpr std::size_t kLongest = 16;
  const std::size_t end = text.starts_with(">>") ? text.find("<<") : std::string::npos;
  if (!model.tokenizer->reads_language_codes() || end == std::string::npos || end <= 2 || end - 2 > kLongest) {
    return;
  }
  const std::string word = text.substr(2, end - 2);
  const bool looks_like_one = std::all_of(word.begin(), word.end(), [](char byte) {
    return std::isalnum(static_cast<unsigned char>(byte)) != 0 || byte == '_' || byte == '-' || byte == '@';
  });
  const std::vector<std::string> codes = model.tokenizer->language_codes();
  if (!looks_like_one || !own_code(text, codes).empty()) {
    return;
  }
  throw Error(ErrorKind::kArgument,
              concat(name, ": begins with >>", word, "<<, but ", model.name,
                     codes.empty() ? " writes one language and has no codes"
                                   : concat(" has no such code; it has ", some_codes(codes))),
              codes.empty() ? "leave the code out; behind a blank it is text like any other"
                            : "name one of these; behind a blank it is text like any other");
}

std::string some_languages(const text::FramedLanguages& known) {
  std::vector<std::string> names;
  names.reserve(known.ids.size());
  for (const auto& [code, id] : known.ids) {
    names.push_back(code);
  }
  return some_of(std::move(names));
}

namespace {

std::int64_t id_of_language(const SequenceModel& model, const text::FramedLanguages& known, const std::string& code,
                            const char* does) {
  const auto found = known.ids.find(code);
  require(found != known.ids.end(), model.name, ": the model does not ", does, " ", Quoted(code),
          "; its languages are ", [&] { return some_languages(known); });
  return found->second;
}

}  // namespace

std::optional<AskedLanguages> framed_languages(const SequenceModel& model, const std::string& source,
                                               const std::string& target) {
  const text::FramedLanguages* const known = model.tokenizer->framed_languages();
  if (known == nullptr) {
    return std::nullopt;
  }
  const std::string& writes = target.empty() ? known->target : target;
  require(!writes.empty(), model.name, " writes several languages: name one with ", option("target_lang"), "; it has ",
          [&] { return some_languages(*known); });
  const std::int64_t reads = id_of_language(model, *known, source.empty() ? known->source : source, "read");
  return AskedLanguages{known->frame_of(reads), {id_of_language(model, *known, writes, "write"), known}};
}

std::optional<std::string> language_code(const SequenceModel& model, const std::string& source,
                                         const std::string& target) {
  if (model.tokenizer->framed_languages() != nullptr) {
    return std::nullopt;
  }
  check_language(model, "source", model.source_language, source);
  const std::vector<std::string> codes = model.tokenizer->language_codes();
  if (codes.empty()) {
    check_language(model, "target", model.target_language, target);
    return std::nullopt;
  }
  if (target.empty()) {
    return std::nullopt;
  }
  std::string code = target.starts_with(">>") ? target : concat(">>", target, "<<");
  require(std::binary_search(codes.begin(), codes.end(), code), model.name, ": the model does not write ",
          Quoted(target), "; its languages are ", [&] { return some_codes(codes); });
  return code;
}

}  // namespace weft::tasks
