// SPDX-License-Identifier: Apache-2.0
// A list of settings is short: it is split at its commas, and what is left over is an error.
#include "weft/attention/mechanisms/settings.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"

namespace weft::attention {
namespace {

std::string trimmed(const std::string& text) {
  constexpr const char* kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  return begin == std::string::npos ? std::string() : text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
}

// Words with a slash between two of them; `1.5` and `+8` are read, too, so that what asks for a number can refuse them.
bool is_value(const std::string& text) {
  std::istringstream list(text);
  for (std::string word; std::getline(list, word, '/');) {
    std::erase_if(word, [](char c) { return c == '.' || c == '+'; });
    if (!is_word(word)) {
      return false;
    }
  }
  return !text.empty() && text.back() != '/';
}

}  // namespace

MechanismSettings::MechanismSettings(const std::string& expression, const std::string& name) : name_(name) {
  const auto refuse = [&](const std::string& found) {
    fail(ErrorKind::kExpression, "attention: `", name_, "` is written `", name_, "` or `", name_,
         "(key=value, ...)`, and is not combined with patterns, found ", quote(found));
  };
  const std::string rest = trimmed(trimmed(expression).substr(name.size()));
  if (rest.empty()) {
    return;
  }
  if (rest.size() < 2 || rest.front() != '(' || rest.back() != ')') {
    refuse(rest);
  }
  const std::string inside = trimmed(rest.substr(1, rest.size() - 2));
  std::istringstream list(inside);
  for (std::string setting; std::getline(list, setting, ',');) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos) {
      refuse(trimmed(setting));
    }
    const std::string key = trimmed(setting.substr(0, equals));
    const std::string value = trimmed(setting.substr(equals + 1));
    if (!is_word(key) || (!value.empty() && !is_value(value))) {
      refuse(trimmed(setting));
    }
    add(key, value);
  }
  if (inside.ends_with(',')) {
    refuse(inside);
  }
}

void MechanismSettings::add(const std::string& key, const std::string& value) {
  const bool repeated =
      std::any_of(settings_.begin(), settings_.end(), [&](const auto& known) { return known.first == key; });
  if (repeated) {
    fail(ErrorKind::kExpression, "attention: `", name_, "` has the setting ", quote(key), " twice");
  }
  if (value.empty()) {
    fail(ErrorKind::kExpression, "attention: `", name_, "` has the setting ", quote(key),
         " without a value; give one behind `=`, or leave the setting out");
  }
  settings_.emplace_back(key, value);
}

std::string MechanismSettings::take(std::string_view key) {
  const auto found =
      std::find_if(settings_.begin(), settings_.end(), [&](const auto& setting) { return setting.first == key; });
  if (found == settings_.end()) {
    return {};
  }
  std::string value = std::move(found->second);
  settings_.erase(found);
  return value;
}

std::int64_t MechanismSettings::number(std::string_view key, std::int64_t otherwise, std::int64_t least,
                                       std::int64_t most) {
  const std::string value = take(key);
  return value.empty() ? otherwise : in_range(key, value, least, most);
}

std::vector<std::int64_t> MechanismSettings::numbers(std::string_view key, std::int64_t least, std::int64_t most) {
  std::vector<std::int64_t> found;
  std::istringstream list(take(key));
  for (std::string value; std::getline(list, value, '/');) {
    found.push_back(in_range(key, value, least, most));
  }
  return found;
}

std::int64_t MechanismSettings::in_range(std::string_view key, const std::string& value, std::int64_t least,
                                         std::int64_t most) const {
  if (value.starts_with('+')) {
    fail(ErrorKind::kExpression, "attention: ", key, " of `", name_, "` must be a whole number without a plus sign, ",
         "found ", quote(value));
  }
  const auto number = integer_of(value);
  if (!number || *number < least || *number > most) {
    fail(ErrorKind::kExpression, "attention: ", key, " of `", name_, "` must be a whole number in [", least, ", ", most,
         "], found ", quote(value));
  }
  return *number;
}

std::string MechanismSettings::word(std::string_view key, const std::vector<std::string_view>& words) {
  std::string value = take(key);
  if (value.empty()) {
    return std::string(words.front());
  }
  if (std::find(words.begin(), words.end(), value) == words.end()) {
    fail(ErrorKind::kExpression, "attention: ", key, " of `", name_, "` must be one of ", joined(words, ", "),
         ", found ", quote(value));
  }
  return value;
}

void MechanismSettings::check_all_taken(const std::vector<std::string_view>& known) const {
  if (!settings_.empty()) {
    fail(ErrorKind::kExpression, "attention: `", name_, "` has no setting ", quote(settings_.front().first),
         known.empty() ? "; it has none" : ", there are " + joined(known, ", "));
  }
}

}  // namespace weft::attention
