// SPDX-License-Identifier: Apache-2.0
// Printing, and what the terminal can show.
#include "weft/cli/front/output.h"

#include <algorithm>
#include <charconv>
#include <iostream>
#include <string>

#include <sys/ioctl.h>
#include <unistd.h>
#include <CLI/App.hpp>

#include "weft/core/environment.h"

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
