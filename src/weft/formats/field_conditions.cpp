// SPDX-License-Identifier: Apache-2.0
// The first condition that does not hold is the message.
#include "weft/formats/field_conditions.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"

namespace weft::formats {
namespace {

Json value_of(const Json& values, std::string_view field) {
  const auto found = values.find(std::string(field));
  return found == values.end() ? Json() : *found;
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// As a message has it: text from a file is quoted.
std::string shown(const Json& value) { return value.is_string() ? quote(value.get<std::string>()) : value.dump(); }

bool holds(const FieldCondition& condition, const Json& values) {
  if (std::none_of(condition.fields.begin(), condition.fields.end(),
                   [&](std::string_view field) { return values.contains(std::string(field)); })) {
    return true;
  }
  const bool found = std::any_of(condition.fields.begin(), condition.fields.end(), [&](std::string_view field) {
    const Json value = value_of(values, field);
    const std::vector<std::string_view>& fitting = condition.values;
    return fitting.empty() ? is_set(value) : std::find(fitting.begin(), fitting.end(), text_of(value)) != fitting.end();
  });
  return found != condition.is_negated;
}

// The fields that there are here: which files are held out is another field for pairs of texts than for examples.
std::string names_of(const FieldCondition& condition, const Json& values) {
  std::vector<std::string> names;
  for (const std::string_view field : condition.fields) {
    if (values.contains(std::string(field))) {
      names.push_back(concat(option(field)));
    }
  }
  return alternatives(names);
}

[[noreturn]] void refuse(const FieldRule& field, const FieldCondition& condition, const Json& values,
                         std::string_view where) {
  const std::string names = names_of(condition, values);
  const std::string begin = concat(where, ": ", field.name);
  const Json found = value_of(values, condition.fields.front());
  if (condition.is_negated) {
    throw Error(ErrorKind::kArgument, concat(begin, " is not read beside ", names, ", which is ", shown(found)),
                "leave it out");
  }
  if (condition.values.empty()) {
    throw Error(ErrorKind::kArgument, concat(begin, " has no effect without ", names),
                concat("give ", names, ", or leave it out"));
  }
  const std::string other = concat(names, " ", alternatives(condition.values));
  throw Error(ErrorKind::kArgument, concat(begin, " is for ", other, ", found ", shown(found)),
              concat("give ", other, ", or leave it out"));
}

}  // namespace

bool is_set(const Json& value) {
  if (value.is_boolean()) {
    return value.get<bool>();
  }
  if (value.is_string()) {
    return !value.get_ref<const std::string&>().empty();
  }
  return value.is_number() ? value.get<double>() != 0 : !value.empty();
}

bool leaves_off(const Json& found, const Json& usual) {
  const bool by_default = usual.is_boolean() || (usual.is_number() && usual.get<double>() < 0);
  return by_default ? found == usual : !is_set(found);
}

bool conditions_hold(const FieldRule& field, const Json& values) {
  return std::all_of(field.conditions.begin(), field.conditions.end(),
                     [&](const FieldCondition& condition) { return holds(condition, values); });
}

void check_conditions(const FieldRule& field, const Json& values, std::string_view where) {
  for (const FieldCondition& condition : field.conditions) {
    if (!holds(condition, values)) {
      refuse(field, condition, values, where);
    }
  }
}

}  // namespace weft::formats
