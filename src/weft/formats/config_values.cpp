// SPDX-License-Identifier: Apache-2.0
// Single config values out of JSON, each with the type its field has and no other.
#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/core/quote.h"
#include "weft/formats/config_json.h"
#include "weft/formats/json_members.h"

namespace weft::formats {
namespace {

template <typename Value>
void read_list(const Json& json, std::string_view where, std::string_view expected, std::vector<Value>& values) {
  if (!json.is_array()) {
    wrong_type(where, expected, json);
  }
  // Into a list of its own: `values` stays as it was when an item is wrong.
  std::vector<Value> read(json.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    read_value(json[i], concat(where, "[", i, "]"), read[i]);
  }
  values = std::move(read);
}

}  // namespace

void read_value(const Json& json, std::string_view where, bool& value) {
  if (!json.is_boolean()) {
    wrong_type(where, "true or false", json);
  }
  value = json.get<bool>();
}

void read_value(const Json& json, std::string_view where, std::int64_t& value) {
  if (!json.is_number_integer()) {
    wrong_type(where, "an integer", json);
  }
  // The parser keeps what exceeds 63 bits as unsigned; a cast would make it negative without a word.
  constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > kLargest) {
    wrong_type(where, concat("at most ", kLargest), json);
  }
  value = json.get<std::int64_t>();
}

void read_value(const Json& json, std::string_view where, double& value) {
  if (!json.is_number() || std::isnan(json.get<double>())) {
    wrong_type(where, "a number", json);
  }
  value = json.get<double>();
}

void read_value(const Json& json, std::string_view where, std::string& value) {
  if (!json.is_string()) {
    wrong_type(where, "a string", json);
  }
  value = json.get<std::string>();
}

void read_value(const Json& json, std::string_view where, std::vector<std::string>& value) {
  if (json.is_string()) {
    value = {json.get<std::string>()};
    return;
  }
  read_list(json, where, "a string or a list of strings", value);
}

void read_value(const Json& json, std::string_view where, std::vector<std::int64_t>& value) {
  read_list(json, where, "a list of integers", value);
}

void check_keys(const Json& json, std::string_view where, const std::vector<std::string_view>& known,
                std::initializer_list<std::string_view> ignored) {
  if (!json.is_object()) {
    wrong_type(concat(where, ": a config"), "a JSON object", json);
  }
  for (const auto& [key, value] : json.items()) {
    const auto is_key = [&key = key](std::string_view name) { return name == key; };
    if (std::any_of(known.begin(), known.end(), is_key) || std::any_of(ignored.begin(), ignored.end(), is_key)) {
      continue;
    }
    const std::string_view nearest = nearest_name(key, known);
    const std::string hint = nearest.empty() ? "" : concat("; did you mean ", nearest, "?");
    fail(ErrorKind::kFormat, where, ": there is no field ", quote(key), hint);
  }
}

void check_writable(double value, std::string_view field) {
  if (!std::isfinite(value)) {
    fail(ErrorKind::kNumeric, "cannot write ", field, " = ", value, " as JSON, which has finite numbers only");
  }
}

}  // namespace weft::formats
