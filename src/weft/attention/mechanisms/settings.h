// SPDX-License-Identifier: Apache-2.0
// The settings of a mechanism's string, `name(key=value, ...)`: what a mechanism that is no pattern may say in
// brackets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::attention {

/// What the brackets behind a name hold, read one by one.
class MechanismSettings {
 public:
  /// `expression` begins with `name`. Errors: kExpression for anything but `name`, or `name(key=value, ...)` with words
  /// of letters, digits, `_` and `-`, values also of several with `/` between them, and each key once.
  MechanismSettings(const std::string& expression, const std::string& name);

  /// Takes the value of `key` out; `otherwise` where it is not set. Errors: kExpression unless it is a whole number in
  /// [least, most].
  std::int64_t number(std::string_view key, std::int64_t otherwise, std::int64_t least, std::int64_t most);
  /// The same for one of `words`, the first of which is meant where it is not set.
  std::string word(std::string_view key, const std::vector<std::string_view>& words);
  /// The same for whole numbers with slashes between them; none where it is not set.
  std::vector<std::int64_t> numbers(std::string_view key, std::int64_t least, std::int64_t most);
  /// The same as it is written; empty where it is not set.
  std::string text(std::string_view key) { return take(key); }
  /// Errors: kExpression for a setting that nobody took, naming those that there are.
  void check_all_taken(const std::vector<std::string_view>& known) const;

 private:
  void add(const std::string& key, const std::string& value);
  std::string take(std::string_view key);
  std::int64_t in_range(std::string_view key, const std::string& value, std::int64_t least, std::int64_t most) const;

  std::string name_;
  std::vector<std::pair<std::string, std::string>> settings_;
};

}  // namespace weft::attention
