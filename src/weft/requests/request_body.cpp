// SPDX-License-Identifier: Apache-2.0
// Members of a body by name, each with an error that names it.
#include "weft/requests/request_body.h"

#include <algorithm>

#include "weft/core/quote.h"

namespace weft::requests {
namespace {

std::string string_of(const formats::Json& value, const std::string& where) {
  require(value.is_string(), where, " must be a string, found ", value.type_name());
  return value.get<std::string>();
}

server::Text read_text(const formats::Json& value, const std::string& where, const std::string& first,
                       const std::string& second) {
  if (first.empty() || !value.is_object()) {
    return {.first = string_of(value, where)};
  }
  server::Text text;
  bool found_first = false;
  for (const auto& [key, member] : value.items()) {
    require(key == first || key == second, where, " has the member ", Quoted(key), "; expected '", first, "' and '",
            second, "'");
    if (key == first) {
      text.first = string_of(member, concat(where, ".", key));
      found_first = true;
    } else {
      text.second = string_of(member, concat(where, ".", key));
    }
  }
  require(found_first, where, " has no '", first, "'");
  return text;
}

// The member, or null where there is none.
const formats::Json& member_of(const formats::Json& body, const std::string& key) {
  static const formats::Json none;
  const auto found = body.find(key);
  return found == body.end() ? none : *found;
}

}  // namespace

TextInputs read_texts(const formats::Json& body, const std::string& key, const std::string& first,
                      const std::string& second) {
  const auto found = body.find(key);
  require(found != body.end(), "the request has no '", key, "'");
  TextInputs inputs;
  inputs.list = found->is_array();
  if (!inputs.list) {
    inputs.texts.push_back(read_text(*found, "'" + key + "'", first, second));
    return inputs;
  }
  require(!found->empty(), "'", key, "' is an empty list; expected at least one text");
  for (const formats::Json& value : *found) {
    inputs.texts.push_back(read_text(value, concat(key, "[", inputs.texts.size(), "]"), first, second));
    inputs.texts.back().place = static_cast<std::int64_t>(inputs.texts.size()) - 1;
  }
  return inputs;
}

void require_known_members(const formats::Json& body, const std::vector<std::string_view>& known) {
  for (const auto& [key, member] : body.items()) {
    if (std::ranges::find(known, key) == known.end()) {
      const std::string nearest = did_you_mean(key, known);
      fail(ErrorKind::kArgument, "the request has the unknown member ", quote(key), nearest.empty() ? "" : "; ",
           nearest);
    }
  }
}

bool wants_pieces(const formats::Json& body) {
  const auto found = body.find("stream");
  require(found == body.end() || found->is_boolean(), "'stream' must be true or false");
  return found != body.end() && found->get<bool>();
}

std::string string_member(const formats::Json& body, const std::string& key) {
  const auto found = body.find(key);
  return found == body.end() ? "" : string_of(*found, "'" + key + "'");
}

std::optional<bool> optional_flag(const formats::Json& body, const std::string& key) {
  const formats::Json& value = member_of(body, key);
  require(value.is_null() || value.is_boolean(), "'", key, "' must be true or false, found ", value.type_name());
  return value.is_null() ? std::nullopt : std::optional(value.get<bool>());
}

std::optional<std::string> optional_text(const formats::Json& body, const std::string& key) {
  const formats::Json& value = member_of(body, key);
  return value.is_null() ? std::nullopt : std::optional(string_of(value, "'" + key + "'"));
}

std::optional<std::int64_t> optional_count(const formats::Json& body, const std::string& key, std::int64_t minimum,
                                           std::int64_t maximum) {
  const formats::Json& value = member_of(body, key);
  if (value.is_null()) {
    return std::nullopt;
  }
  const bool fits = value.is_number_integer() &&
                    !(value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(maximum)) &&
                    value.get<std::int64_t>() >= minimum && value.get<std::int64_t>() <= maximum;
  require(fits, "'", key, "' must be an integer of ", minimum, " to ", maximum, ", found ",
          Quoted(value.dump(-1, ' ', true)));
  return value.get<std::int64_t>();
}

const formats::Json& parameters_of(const formats::Json& body) {
  static const formats::Json empty = formats::Json::object();
  const formats::Json& value = member_of(body, "parameters");
  require(value.is_null() || value.is_object(), "'parameters' must be an object, found ", value.type_name());
  return value.is_null() ? empty : value;
}

std::vector<std::string> text_list(const formats::Json& body, const std::string& key) {
  const auto found = body.find(key);
  require(found != body.end(), "the request has no '", key, "'");
  require(found->is_array() && !found->empty(), "'", key, "' must be a list of at least one text, found ",
          found->is_array() ? "an empty list" : found->type_name());
  std::vector<std::string> texts;
  for (const formats::Json& value : *found) {
    texts.push_back(string_of(value, concat(key, "[", texts.size(), "]")));
  }
  return texts;
}

}  // namespace weft::requests
