// SPDX-License-Identifier: Apache-2.0
// Printing; numbers do not depend on the locale.
#include "weft/cli/output.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>

#include <sys/ioctl.h>
#include <unistd.h>
#include <CLI/App.hpp>

#include "weft/core/environment.h"
#include "weft/inspect/picture/picture.h"

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

std::string digits(std::int64_t number) { return inspect::grouped_digits(number); }

std::string percent(double share) {
  constexpr double kMostInThreeDigits = 9.995;
  if (share >= kMostInThreeDigits) {
    return digits(std::llround(share * 100)) + "%";
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g%%", share * 100);
  return text.data();
}

std::string fixed(double value, int places) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", places, value);
  return text.data();
}

std::string with_unit(double number, std::string_view unit) {
  constexpr std::array<std::string_view, 9> kPrefixes = {"", "k", "M", "G", "T", "P", "E", "Z", "Y"};
  std::size_t prefix = 0;
  // 999.95 would be printed as 1000.0.
  for (; std::abs(number) >= 999.95 && prefix + 1 < kPrefixes.size(); ++prefix) {
    number /= 1000;
  }
  return fixed(number, prefix == 0 ? 0 : 1) + " " + std::string(kPrefixes[prefix]) + std::string(unit);
}

std::string duration(double seconds) {
  struct Unit {
    double seconds;
    std::string_view name;
  };
  constexpr std::array<Unit, 6> kUnits = {
      {{86400, "days"}, {3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}, {1e-6, "us"}}};
  const auto unit =
      std::find_if(kUnits.begin(), kUnits.end() - 1, [&](const Unit& each) { return seconds >= each.seconds; });
  return fixed(seconds / unit->seconds, 1) + " " + std::string(unit->name);
}

std::string counted(std::int64_t number, std::string_view noun) {
  return digits(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

std::string score_text(double value) {
  constexpr double kSmallest = 0.00095;  // two digits are left of what is larger: 0.0010
  if (value == 0 || std::abs(value) >= kSmallest) {
    return fixed(value, 4);
  }
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.2g", value);
  return text.data();
}

void add_json_flag(CLI::App& app, bool& json) { app.add_flag("--json", json, "print the result as one line of JSON"); }

namespace {

/// The locale as the C library would choose it, without setting one.
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = environment(name).value_or("");
    if (!value.empty()) {
      return value.find("UTF-8") != std::string::npos || value.find("utf8") != std::string::npos;
    }
  }
  return false;
}

}  // namespace

std::int64_t terminal_width(std::int64_t otherwise) {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return size.ws_col;
  }
  const std::string text = environment("COLUMNS").value_or("");
  std::int64_t columns = 0;
  std::from_chars(text.data(), text.data() + text.size(), columns);
  return columns > 0 ? columns : otherwise;
}

inspect::TerminalStyle terminal_style() {
  const bool wants_colour = environment("NO_COLOR").value_or("").empty() && environment("TERM").value_or("") != "dumb";
  if (isatty(STDOUT_FILENO) == 1 && wants_colour) {
    return inspect::TerminalStyle::kColour;
  }
  return locale_is_utf8() ? inspect::TerminalStyle::kUnicode : inspect::TerminalStyle::kAscii;
}

}  // namespace weft::cli
