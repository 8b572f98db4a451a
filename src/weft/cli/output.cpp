// SPDX-License-Identifier: Apache-2.0
// Printing; numbers do not depend on the locale.
#include "weft/cli/output.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>

#include <CLI/App.hpp>

#include "weft/pattern/picture/picture.h"

namespace weft::cli {

void print_json(const formats::Json& json) {
  std::cout << json.dump(-1, ' ', false, formats::Json::error_handler_t::replace) << '\n';
}

std::string name_table(const Rows& rows, std::string_view indent) {
  std::size_t width = 0;
  for (const auto& [name, value] : rows) {
    width = std::max(width, name.size());
  }
  std::string text;
  for (const auto& [name, value] : rows) {
    text.append(indent).append(name).append(width + 2 - name.size(), ' ').append(value).append("\n");
  }
  return text;
}

std::string digits(std::int64_t number) { return pattern::grouped_digits(number); }

std::string percent(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g%%", share * 100);
  return text.data();
}

std::string fixed(double value, int places) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", places, value);
  return text.data();
}

void add_json_flag(CLI::App& app, bool& json) { app.add_flag("--json", json, "print the result as one line of JSON"); }

}  // namespace weft::cli
