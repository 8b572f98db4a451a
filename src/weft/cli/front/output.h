// SPDX-License-Identifier: Apache-2.0
// What commands print: results on stdout, as JSON where a program reads them, and tables for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/App.hpp>

#include "weft/core/text/number_text.h"
#include "weft/formats/config_json.h"
#include "weft/inspect/picture/terminal.h"

namespace weft::cli {

/// One line of JSON and a new line. Bytes that are no UTF-8 become U+FFFD.
void print_json(const formats::Json& json);

/// Names and values of a table.
using Rows = std::vector<std::pair<std::string, std::string>>;

/// Lines "name  value" with the values in one column, each begun with `indent`.
std::string name_table(const Rows& rows, std::string_view indent = "");

/// Adds the flag --json.
void add_json_flag(CLI::App& app, bool& json);

/// Columns of stdout's terminal, else COLUMNS, else `otherwise`.
std::int64_t terminal_width(std::int64_t otherwise = 80);

/// Colour on a terminal unless NO_COLOR is set or TERM is dumb; else Unicode where the locale is UTF-8; else ASCII.
inspect::TerminalStyle terminal_style();

}  // namespace weft::cli
