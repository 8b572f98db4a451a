// SPDX-License-Identifier: Apache-2.0
// Every config to and from JSON by its field list. Included by config_json.h; the conversions of single values are in
// config_json.cpp.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/fields.h"
#include "weft/formats/config_json.h"

namespace weft::formats {

/// One value out of JSON. `where` names the file and field in the message. Integers must be written as such (3.0 is an
/// error), numbers may be integers, and one string stands for a list of one string.
void read_value(const Json& json, std::string_view where, bool& value);
void read_value(const Json& json, std::string_view where, std::int64_t& value);
void read_value(const Json& json, std::string_view where, double& value);
void read_value(const Json& json, std::string_view where, std::string& value);
void read_value(const Json& json, std::string_view where, std::vector<std::string>& value);
void read_value(const Json& json, std::string_view where, std::vector<std::int64_t>& value);

/// Throws kFormat unless `json` is an object whose keys are all among `known` or `ignored`; names the nearest known
/// one.
void check_keys(const Json& json, std::string_view where, const std::vector<std::string_view>& known,
                std::initializer_list<std::string_view> ignored);

/// Throws kNumeric for NaN and infinity, which JSON cannot hold.
void check_writable(double value, std::string_view field);

/// One field into a JSON object.
template <class Value>
void write_field(Json& json, const FieldRule& field, const Value& value) {
  if constexpr (std::is_same_v<Value, double>) {
    check_writable(value, field.name);
  }
  json.emplace(std::string(field.name), value);
}

/// The config as a JSON object, field by field in the order of its list, and behind them those of its member `own`
/// where it has one (core/own_fields.h).
template <class Config>
Json to_json(const Config& config) {
  Json json = Json::object();
  Config::fields([&](const auto& field) { write_field(json, field, config.*field.member); });
  if constexpr (requires { config.own; }) {
    config.own.each([&](const FieldRule& field, const auto& value) { write_field(json, field, value); });
  }
  return json;
}

/// What of `json`, an object, names fields of `Config`.
template <class Config>
Json only_fields_of(const Json& json) {
  Json mine = Json::object();
  Config::fields([&](const auto& field) {
    if (const auto found = json.find(std::string(field.name)); found != json.end()) {
      mine[std::string(field.name)] = *found;
    }
  });
  return mine;
}

/// Throws kFormat where `json` lacks a field that names no version which brought it (Field::since): nothing is filled
/// in silently.
template <class Config>
void check_complete(const Json& json, std::string_view where) {
  Config::fields([&](const auto& field) {
    if (field.version.empty() && !json.contains(std::string(field.name))) {
      fail(ErrorKind::kFormat, where, ": ", field.name, " is missing (", field.help, ")");
    }
  });
}

/// Sets the fields that `json` names and checks them all; `config` is unchanged when anything is wrong. A key that is
/// neither a field nor `ignored` is an error. Errors: kFormat for keys and types, kArgument for values out of range.
template <class Config>
void update_from_json(Config& config, const Json& json, std::string_view where,
                      std::initializer_list<std::string_view> ignored = {}) {
  std::vector<std::string_view> known;
  Config updated = config;
  const auto read = [&](const FieldRule& field, auto& value) {
    if (const auto found = json.find(std::string(field.name)); found != json.end()) {
      read_value(*found, concat(where, ": ", field.name), value);
    }
  };
  Config::fields([&](const auto& field) { known.push_back(field.name); });
  if constexpr (requires { config.own; }) {
    config.own.each([&](const FieldRule& field, const auto&) { known.push_back(field.name); });
  }
  check_keys(json, where, known, ignored);
  Config::fields([&](const auto& field) { read(field, updated.*field.member); });
  if constexpr (requires { config.own; }) {
    updated.own.each(read);
  }
  check_fields(updated, where);
  config = std::move(updated);
}

/// Sets the fields of several configs, which have no name in common, from one object. A key that is a field of none is
/// an error. Errors: as update_from_json().
template <class... Configs>
void update_each_from_json(const Json& json, std::string_view where, Configs&... configs) {
  std::vector<std::string_view> known;
  const auto add = [&](const std::vector<std::string_view>& names) {
    known.insert(known.end(), names.begin(), names.end());
  };
  (add(field_names<Configs>()), ...);
  check_keys(json, where, known, {});
  (update_from_json(configs, only_fields_of<Configs>(json), where), ...);
}

}  // namespace weft::formats
