// SPDX-License-Identifier: Apache-2.0
// Errors name the member and what was found in its place.
#include "weft/readers/open_answers/json_parts.h"

#include "weft/core/quote.h"
#include "weft/readers/json_lines_reader.h"
#include "weft/readers/reader.h"

namespace weft::readers {

using formats::Json;

void QuestionIds::add(const std::string& id, const std::string& where) {
  if (!ids_.insert(id).second) {
    malformed(where, ": expected an id that no question before has, found ", quote(id), " a second time");
  }
}

const Json& list_field(const Json& object, const std::string& name, const std::string& where) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (found == object.end() || !found->is_array()) {
    malformed(where, ": expected a list at '", name, "', found ", found == object.end() ? "none" : found_text(*found));
  }
  return *found;
}

std::vector<std::string> strings_field(const Json& object, const std::string& name, const std::string& where) {
  const Json& list = list_field(object, name, where);
  std::vector<std::string> strings;
  strings.reserve(list.size());
  for (const Json& item : list) {
    if (!item.is_string()) {
      malformed(where, ": expected strings in the list '", name, "', found ", found_text(item));
    }
    strings.push_back(item.get<std::string>());
  }
  return strings;
}

std::string optional_string(const Json& object, const std::string& name, const std::string& where) {
  return object.contains(name) ? string_field(object, name, where) : std::string();
}

bool optional_truth(const Json& object, const std::string& name, const std::string& where) {
  const auto found = object.find(name);
  if (found == object.end()) {
    return false;
  }
  if (!found->is_boolean()) {
    malformed(where, ": expected true or false at '", name, "', found ", found_text(*found));
  }
  return found->get<bool>();
}

}  // namespace weft::readers
