// SPDX-License-Identifier: Apache-2.0
// One field list behind every config: a struct names its fields once, and JSON, command-line flags, help, defaults and
// validation are all derived from that list.
//
//   struct TrainerConfig {
//     double learning_rate = 1e-3;
//     template <typename Visitor>
//     static void fields(Visitor&& visit) {
//       visit(Field{"learning_rate", &TrainerConfig::learning_rate, "peak learning rate"}.range(0.0, 1.0));
//     }
//   };
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "weft/core/error.h"

namespace weft {

/// When a field says something: where one of `fields` has one of `values`, or, without values, is set; or, of a
/// condition that is negated, where none of them is set. A field is set that is neither empty nor 0 nor false.
struct FieldCondition {
  std::vector<std::string_view> fields;
  std::vector<std::string_view> values = {};
  bool is_negated = false;
};

/// What a field is called in JSON (snake_case), one line of help, and the rule that it obeys.
struct FieldRule {
  std::string_view name;
  std::string_view help;
  std::optional<double> minimum = std::nullopt;
  std::optional<double> maximum = std::nullopt;
  std::vector<std::string_view> choices = {};
  std::string_view version = {};                ///< see Field::since()
  std::string_view decided_by = {};             ///< see Field::follows()
  std::vector<FieldCondition> conditions = {};  ///< see Field::only_with(); all of them must hold
};

/// One member of `Config`: its rule, and where it lives.
/// Value types: bool, std::int64_t, double, std::string, std::vector<std::string>, std::vector<std::int64_t>.
template <typename Config, typename Value>
struct Field : FieldRule {
  Value Config::* member;

  Field(std::string_view its_name, Value Config::* its_member, std::string_view its_help)
      : FieldRule{its_name, its_help}, member(its_member) {}

  /// Both ends belong to the range.
  Field& range(double low, double high) {
    minimum = low;
    maximum = high;
    return *this;
  }
  /// A lower end only; `low` belongs to the range.
  Field& at_least(double low) {
    minimum = low;
    return *this;
  }
  /// The version that brought the field: a file from before may lack it, and the default says what that version did. A
  /// field without one must be there (formats::check_complete).
  Field& since(std::string_view its_version) {
    version = its_version;
    return *this;
  }
  /// Who decides where nobody gives a value, "the directory": help says that in place of the member's first value.
  Field& follows(std::string_view who) {
    decided_by = who;
    return *this;
  }
  /// The field has an effect only where `other` has one of `values`. Who gives a field that has none is told so
  /// (formats/field_conditions.h).
  Field& only_with(std::string_view other, std::vector<std::string_view> values) {
    conditions.push_back({{other}, std::move(values)});
    return *this;
  }
  /// Only where one of `others` is set.
  Field& only_with_any(std::vector<std::string_view> others) {
    conditions.push_back({std::move(others)});
    return *this;
  }
  /// Only where `other` is not set, which decides the same.
  Field& not_with(std::string_view other) {
    conditions.push_back({{other}, {}, true});
    return *this;
  }
  /// The strings that are allowed; any string is where there are none.
  Field& one_of(std::vector<std::string_view> values) {
    choices = std::move(values);
    return *this;
  }
};

/// A bound for a message: whole for integers, which a stream would print as 2.14748e+09.
template <typename Value>
std::string bound_text(const std::optional<double>& bound) {
  const double number = bound.value_or(0);
  constexpr double kExactIntegers = 9007199254740992.0;
  const bool whole = std::is_integral_v<Value> && number >= -kExactIntegers && number <= kExactIntegers;
  return whole ? std::to_string(static_cast<long long>(number)) : concat(number);
}

/// Throws kArgument unless `value` is one of `choices`; the hint names the nearest of them.
void check_choice(std::string_view where, std::string_view field, const std::vector<std::string_view>& choices,
                  std::string_view value);

/// Throws kArgument naming `where`, the field, the rule and the value found.
template <typename Value>
void check_value(const FieldRule& rule, const Value& value, std::string_view where) {
  if constexpr (std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool>) {
    const double number = static_cast<double>(value);
    const bool low = rule.minimum && !(number >= *rule.minimum);  // the negation also catches NaN
    const bool high = rule.maximum && !(number <= *rule.maximum);
    require(!low, where, ": ", rule.name, " must be at least ", bound_text<Value>(rule.minimum), ", found ", value);
    require(!high, where, ": ", rule.name, " must be at most ", bound_text<Value>(rule.maximum), ", found ", value);
  } else if constexpr (std::is_same_v<Value, std::string>) {
    if (!rule.choices.empty()) {
      check_choice(where, rule.name, rule.choices, value);
    }
  }
}

/// The same for a member of a config.
template <typename Config, typename Value>
void check_field(const Field<Config, Value>& field, const Config& config, std::string_view where) {
  check_value(field, config.*field.member, where);
}

/// Checks every field of `config`, and those of its member `own` where it has one (core/own_fields.h); `where` names
/// the file or flag group in the message.
template <typename Config>
void check_fields(const Config& config, std::string_view where) {
  Config::fields([&](const auto& field) { check_field(field, config, where); });
  if constexpr (requires { config.own; }) {
    check_fields(config.own, where);
  }
}

/// The names of all fields of `Config`.
template <typename Config>
std::vector<std::string_view> field_names() {
  std::vector<std::string_view> names;
  Config::fields([&](const auto& field) { names.push_back(field.name); });
  return names;
}

}  // namespace weft
