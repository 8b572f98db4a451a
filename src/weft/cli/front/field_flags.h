// SPDX-License-Identifier: Apache-2.0
// Flags from field lists (core/fields.h): every field of a config is a flag with its help, range, choices and default.
// What was given is collected as JSON and laid over a config file, so that flags win and one code path checks both.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>

#include "weft/cli/front/failure.h"
#include "weft/cli/front/spoken_flags.h"
#include "weft/core/fields.h"
#include "weft/core/system/option_name.h"
#include "weft/core/text/choice_list.h"
#include "weft/formats/config_json.h"

namespace weft::cli {

/// What add_fields needs besides the fields.
struct FlagGroup {
  std::string title;  ///< heading in --help
  std::map<std::string_view, std::string_view> aliases =
      {};                                                ///< field -> a shorter flag, "num_hidden_layers" -> "layers"
  std::vector<std::string_view> left_out = {};           ///< fields that are no flags here
  std::vector<std::string_view> only = {};               ///< when given: no other fields are flags here
  std::map<std::string_view, std::string> remarks = {};  ///< field -> what its help says beside range and default
};

/// The words of a flag as a value. Errors: UsageError that names the flag and what was expected.
void parse_value(const std::string& flag, const std::vector<std::string>& words, bool& value);
void parse_value(const std::string& flag, const std::vector<std::string>& words, std::int64_t& value);
void parse_value(const std::string& flag, const std::vector<std::string>& words, double& value);
void parse_value(const std::string& flag, const std::vector<std::string>& words, std::string& value);
void parse_value(const std::string& flag, const std::vector<std::string>& words, std::vector<std::string>& value);
void parse_value(const std::string& flag, const std::vector<std::string>& words, std::vector<std::int64_t>& value);

/// What help says about a value: "N", "X", "TEXT", "A|B"; and its default in words, empty when there is nothing to say.
struct ValueHelp {
  std::string placeholder;
  std::string default_value;
};
ValueHelp describe(bool value);
ValueHelp describe(std::int64_t value);
ValueHelp describe(double value);
ValueHelp describe(const std::string& value);
ValueHelp describe(const std::vector<std::string>& value);
ValueHelp describe(const std::vector<std::int64_t>& value);

/// What a field of text holds, as help writes it beside the flag: FILE for "svg". Nothing where TEXT says enough.
std::string_view kind_of_text(std::string_view field);

/// "help (0 to 10; default 0.001)".
std::string help_text(std::string_view help, const std::vector<std::string>& remarks);

/// A number as a person writes it: 0.001, 16777216, 1e+12.
std::string short_number(double value);

/// "with --optimizer adamw or lamb", "not with --warmup-steps"; nothing for a condition of many fields.
std::string condition_help(const FieldCondition& condition, const FlagGroup& group);

/// A check for an option whose value is one of `names`. Errors: UsageError with the nearest name.
CLI::Validator one_of(const std::string& flag, const std::vector<std::string>& names);

/// Whether the choices of a field are too long to be written beside its flag.
bool too_many(const std::vector<std::string_view>& choices);

/// The rules of a field and its default, for help. A default that breaks the rule means that the field must be given.
template <typename Value>
std::vector<std::string> remarks(const FieldRule& field, const Value& otherwise) {
  std::vector<std::string> found;
  if (too_many(field.choices)) {
    found.push_back(choice_list(field.choices, ", "));
  }
  if (field.minimum && field.maximum) {
    found.push_back(short_number(*field.minimum) + " to " + short_number(*field.maximum));
  } else if (field.minimum) {
    found.push_back("at least " + short_number(*field.minimum));
  }
  if (!field.decided_by.empty()) {
    found.push_back(concat("default that of ", field.decided_by));
    return found;
  }
  const std::string value = describe(otherwise).default_value;
  try {
    check_value(field, otherwise, "");
    if (!value.empty()) {
      found.push_back("default " + value);
    }
  } catch (const Error&) {
    found.emplace_back("required");
  }
  return found;
}

/// The value of a field in help: its choices, NAME where they are too many for that, what kind_of_text() says about its
/// name, or describe() about its type.
template <typename Value>
std::string placeholder(const FieldRule& field, const Value& otherwise) {
  if (field.choices.empty()) {
    const std::string_view kind = kind_of_text(field.name);
    return kind.empty() ? describe(otherwise).placeholder : std::string(kind);
  }
  return too_many(field.choices) ? "NAME" : choice_list(field.choices, "|");
}

/// Adds one field's flag; a value given is checked by the field's own rule and kept in `given`.
template <typename Value>
void add_flag(CLI::App& app, const FieldRule& field, const Value& otherwise, const FlagGroup& group,
              formats::Json& given) {
  std::string names = flag_name(field.name);
  if (const auto alias = group.aliases.find(field.name); alias != group.aliases.end()) {
    names = flag_name(alias->second) + "," + names;
  }
  const std::string flag = names.substr(0, names.find(','));
  note_flag(app, field.name, flag);
  const auto keep = [&given, field, flag](const CLI::results_t& words) {
    Value value{};
    parse_value(flag, words, value);
    try {
      check_value(field, value, "");
    } catch (const Error& error) {
      // ": name must be ..." becomes "--flag must be ...".
      throw UsageError(flag + std::string(error.what()).substr(2 + field.name.size()), error.hint());
    }
    given[std::string(field.name)] = value;
    return true;
  };
  std::vector<std::string> said = remarks(field, otherwise);
  for (const FieldCondition& condition : field.conditions) {
    if (const std::string text = condition_help(condition, group); !text.empty()) {
      said.push_back(text);
    }
  }
  if (const auto more = group.remarks.find(field.name); more != group.remarks.end()) {
    said.push_back(more->second);
  }
  const std::string help = help_text(field.help, said);
  if constexpr (std::is_same_v<Value, bool>) {
    const std::string no = "!--no-" + names.substr(2);
    app.add_flag_function(
           names + "," + no, [keep](std::int64_t count) { keep({count > 0 ? "true" : "false"}); }, help)
        ->group(group.title);
  } else {
    CLI::Option* option = app.add_option(names, CLI::callback_t(keep), help);
    constexpr bool kIsList =
        std::is_same_v<Value, std::vector<std::string>> || std::is_same_v<Value, std::vector<std::int64_t>>;
    option->type_size(1)->expected(1, kIsList ? CLI::detail::expected_max_vector_size : 1);
    if (kIsList) {
      option->allow_extra_args();
    } else {
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }
    option->option_text(placeholder(field, otherwise))->group(group.title);
  }
}

/// The same for a member of a config.
template <typename Config, typename Value>
void add_field(CLI::App& app, const Field<Config, Value>& field, const FlagGroup& group, formats::Json& given,
               const Config& defaults = {}) {
  add_flag(app, field, defaults.*field.member, group, given);
}

/// Whether a field is a flag in the group.
inline bool is_flag_in(const FlagGroup& group, std::string_view field) {
  const auto among = [&](const std::vector<std::string_view>& names) {
    return std::find(names.begin(), names.end(), field) != names.end();
  };
  return !among(group.left_out) && (group.only.empty() || among(group.only));
}

/// Adds a flag for every field of `Config`. `given` outlives the parse and receives what was given, by field name.
/// `defaults`: what the fields are here without a flag.
template <typename Config>
void add_fields(CLI::App& app, const FlagGroup& group, formats::Json& given, const Config& defaults = {}) {
  Config::fields([&](const auto& field) {
    if (is_flag_in(group, field.name)) {
      add_field(app, field, group, given, defaults);
    }
  });
}

using formats::only_fields_of;

}  // namespace weft::cli
