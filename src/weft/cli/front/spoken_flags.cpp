// SPDX-License-Identifier: Apache-2.0
// A field is replaced where its name cannot be an ordinary word: where it has an underscore; where a message or a rule
// (which begins with the command's name) begins with it; and in a rule's first clause, where it has a number or is in a
// list. What stands in quotes, in backticks or on a line of its own is the user's text and stays as it is.
#include "weft/cli/front/spoken_flags.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "weft/cli/front/failure.h"
#include "weft/core/quote.h"

namespace weft::cli {
namespace {

struct Notes {
  std::map<const CLI::App*, FlagsOfFields> flags;
  FlagsOfFields from_file;
};

Notes& notes() {
  static Notes all;
  return all;
}

bool is_part_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Whether a name at `begin` is a word of the sentence: no part of a flag, a path or a call.
bool is_free(std::string_view text, std::size_t begin, std::size_t end) {
  constexpr std::string_view kBefore = "-/.";
  constexpr std::string_view kAfter = "/(=";
  const std::string_view after = text.substr(end);
  const bool free_before = begin == 0 || kBefore.find(text[begin - 1]) == std::string_view::npos;
  const bool has_suffix = after.size() > 1 && after[0] == '.' && is_part_of_name(after[1]);  // of a file's name
  return free_before && !has_suffix && (after.empty() || kAfter.find(after[0]) == std::string_view::npos);
}

std::size_t end_of_name(std::string_view text, std::size_t begin) {
  while (begin < text.size() && is_part_of_name(text[begin])) {
    ++begin;
  }
  return begin;
}

/// Where a text in quotes that begins at `begin` ends; `begin` where none does. An apostrophe stands behind a letter.
std::size_t end_of_quote(std::string_view text, std::size_t begin) {
  const bool opens = std::string_view("'\"`").find(text[begin]) != std::string_view::npos &&
                     (begin == 0 || !is_part_of_name(text[begin - 1]));
  const std::size_t close = opens ? text.find(text[begin], begin + 1) : std::string_view::npos;
  return close == std::string_view::npos ? begin : close + 1;
}

/// Whether a number is behind a name, as in "steps 3"; "text 3: ..." is a place.
bool begins_with_value(std::string_view after) {
  const std::string_view word = after.substr(0, after.find(' ', 1));
  const std::size_t digit = word.starts_with(" -") ? 2 : 1;
  return word.starts_with(' ') && word.size() > digit && !word.ends_with(':') &&
         std::isdigit(static_cast<unsigned char>(word[digit])) != 0;
}

/// Reads the fields of a message from its first character to its last.
class FieldReader {
 public:
  /// `start` is where the rule begins, 0 where the message is none.
  FieldReader(std::string_view text, std::size_t start, const FlagsOfFields& flags)
      : text_(text), start_(start), end_(std::min(text.find('\n'), text.size())), flags_(flags) {}

  /// The next name that means a field, as a part of the text; an empty one at the text's end where there is none.
  std::string_view next() {
    while (at_ < end_) {
      const std::size_t begin = at_;
      at_ = std::max(end_of_name(text_, begin), end_of_quote(text_, begin));
      if (at_ == begin) {
        first_clause_ = first_clause_ && (begin < start_ || !ends_clause(begin));
        ++at_;
      } else if (means_field(begin, at_)) {
        last_end_ = at_;
        return text_.substr(begin, at_ - begin);
      }
    }
    return text_.substr(text_.size());
  }

 private:
  bool ends_clause(std::size_t at) const { return text_[at] == ';' || text_.substr(at).starts_with(": "); }

  bool means_field(std::size_t begin, std::size_t end) const {
    const std::string_view name = text_.substr(begin, end - begin);
    if (!flags_.contains(name) || !is_free(text_, begin, end)) {
      return false;
    }
    return name.find('_') != std::string_view::npos || (start_ == 0 ? begins_message(begin, end) : is_in_rule(begin));
  }

  bool begins_message(std::size_t begin, std::size_t end) const {
    constexpr std::array<std::string_view, 5> kAfter = {": ", " must ", " needs ", " is ", " of layer "};
    const std::string_view after = text_.substr(end);
    return begin == 0 && (begins_with_value(after) || std::any_of(kAfter.begin(), kAfter.end(), [&](const auto words) {
                            return after.starts_with(words);
                          }));
  }

  bool is_in_rule(std::size_t begin) const {
    const std::string_view before = text_.substr(0, begin);
    const std::string_view after = text_.substr(end_of_name(text_, begin));
    const std::string_view between = last_end_ > 0 ? before.substr(last_end_) : "";
    const bool begins_list = before.ends_with("one of ") && !before.ends_with(" be one of ");  // those are choices
    const bool is_listed = begins_list || between == ", " || between == " and " || between == " or ";
    return begin == start_ || (first_clause_ && begin > start_ && (is_listed || begins_with_value(after)));
  }

  std::string_view text_;
  std::size_t start_;
  std::size_t end_;  // of the message's first line
  const FlagsOfFields& flags_;
  std::size_t at_ = 0;
  std::size_t last_end_ = 0;  // of the field before
  bool first_clause_ = true;
};

/// Messages about a config file of a model or a run speak of its fields.
bool is_about_a_config(std::string_view message) {
  const std::string_view place = message.substr(0, message.find(": "));
  const bool quoted = place.starts_with('\'') && place.find(".json") != std::string_view::npos;
  return quoted || (place.size() < message.size() && place.ends_with(".json"));
}

}  // namespace

void forget_flags() { notes() = {}; }

void note_flag(const CLI::App& app, std::string_view field, const std::string& flag) {
  notes().flags[&app].emplace(field, flag);
}

void note_config_file(const std::string& file, const std::vector<std::string>& fields) {
  for (const std::string& field : fields) {
    notes().from_file[field] = file;
  }
}

SpokenError in_flags(const std::string& message, std::string_view command, const FlagsOfFields& flags,
                     const FlagsOfFields& from_file) {
  SpokenError spoken;
  const std::string prefix = std::string(command) + ": ";
  const std::size_t start = message.starts_with(prefix) ? prefix.size() : 0;
  std::string file;
  bool begins_with_field = false;
  FieldReader reader(message, start, flags);
  std::size_t copied = 0;
  for (std::string_view name = reader.next(); !name.empty(); name = reader.next()) {
    const auto at = static_cast<std::size_t>(name.data() - message.data());
    const std::string& flag = flags.find(name)->second;
    spoken.message.append(message, copied, at - copied);
    copied = at + name.size();
    if (const auto read = from_file.find(name); read != from_file.end()) {
      begins_with_field = begins_with_field || at == 0;
      if (file.empty()) {
        file = read->second;
        spoken.hint = concat(name, " is from ", quote(file, 4096), "; ", flag, " replaces it");
      }
      spoken.message += name;
    } else {
      spoken.message += flag;
      spoken.names_a_flag = true;
    }
  }
  spoken.message.append(message, copied);
  if (!file.empty() && (start > 0 || begins_with_field)) {
    spoken.message.replace(0, start, quote(file, 4096) + ": ");
    spoken.hint.clear();
    spoken.names_a_flag = false;
  }
  return spoken;
}

void say_flags_in_help(CLI::App& app) {
  if (const auto noted = notes().flags.find(&app); noted != notes().flags.end()) {
    FlagsOfFields flags = noted->second;
    std::erase_if(flags, [](const auto& flag) { return flag.first.find('_') == std::string::npos; });
    for (CLI::Option* option : app.get_options()) {
      option->description(in_flags(option->get_description(), app.get_name(), flags).message);
    }
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    say_flags_in_help(*command);
  }
}

void rethrow_in_flags(const Error& error, const CLI::App& command, const std::string& name) {
  const auto flags = notes().flags.find(&command);
  if (flags == notes().flags.end() || is_about_a_config(error.what())) {
    throw;
  }
  const SpokenError spoken = in_flags(error.what(), name, flags->second, notes().from_file);
  if (spoken.names_a_flag && error.kind() == ErrorKind::kArgument) {
    throw UsageError(spoken.message, error.hint().empty() ? "see " + name + " --help" : error.hint());
  }
  throw Error(error.kind(), spoken.message, error.hint().empty() ? spoken.hint : error.hint());
}

}  // namespace weft::cli
