// SPDX-License-Identifier: Apache-2.0
// A field is replaced where its name cannot be an ordinary word: in rules, which begin with the command's name; where
// it has an underscore; and where a message begins with it.
#include "weft/cli/spoken_flags.h"

#include <algorithm>
#include <cctype>

#include "weft/cli/failure.h"
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

/// Whether a name at `begin` is a word of the sentence: no part of a flag, a path or a quoted text.
bool is_free(std::string_view text, std::size_t begin, std::size_t end) {
  constexpr std::string_view kBefore = "-/.'\"`";
  constexpr std::string_view kAfter = "/'\"`";
  const bool free_before = begin == 0 || kBefore.find(text[begin - 1]) == std::string_view::npos;
  return free_before && (end == text.size() || kAfter.find(text[end]) == std::string_view::npos);
}

std::size_t end_of_name(std::string_view text, std::size_t begin) {
  while (begin < text.size() && is_part_of_name(text[begin])) {
    ++begin;
  }
  return begin;
}

/// Whether a name that a field has means that field; `start` is where the rule begins, 0 where the message is none.
bool means_field(std::string_view text, std::size_t start, std::size_t begin, std::size_t end) {
  const bool in_rule = start > 0 && begin >= start;
  const bool certain = begin == 0 || in_rule || text.substr(begin, end - begin).find('_') != std::string_view::npos;
  return certain && is_free(text, begin, end);
}

/// Messages about a config file of a model or a run speak of its fields.
bool is_about_a_config(std::string_view message) {
  const std::size_t place = message.substr(0, message.find(": ")).find(".json");
  return place != std::string_view::npos && message.starts_with('\'');
}

}  // namespace

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
  for (std::size_t at = 0; at < message.size();) {
    const std::size_t end = end_of_name(message, at);
    const std::string_view name = std::string_view(message).substr(at, end - at);
    const auto flag = flags.find(name);
    if (flag == flags.end() || !means_field(message, start, at, end)) {
      spoken.message += name;
    } else if (const auto read = from_file.find(name); read != from_file.end()) {
      begins_with_field = begins_with_field || at == 0;
      if (file.empty()) {
        file = read->second;
        spoken.hint = concat(name, " is from ", quote(file, 4096), "; ", flag->second, " replaces it");
      }
      spoken.message += name;
    } else {
      spoken.message += flag->second;
      spoken.names_a_flag = true;
    }
    at = end;
    if (at < message.size()) {
      spoken.message += message[at++];
    }
  }
  if (!file.empty() && (start > 0 || begins_with_field)) {
    spoken.message.replace(0, start, quote(file, 4096) + ": ");
    spoken.hint.clear();
    spoken.names_a_flag = false;
  }
  return spoken;
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
