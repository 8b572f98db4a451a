// SPDX-License-Identifier: Apache-2.0
// What commands print: results on stdout, as JSON where a program reads them, and tables for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/App.hpp>

#include "weft/formats/config_json.h"
#include "weft/inspect/picture/terminal.h"

namespace weft::cli {

/// One line of JSON and a new line. Bytes that are no UTF-8 become U+FFFD.
void print_json(const formats::Json& json);

/// Names and values of a table.
using Rows = std::vector<std::pair<std::string, std::string>>;

/// Lines "name  value" with the values in one column, each begun with `indent`.
std::string name_table(const Rows& rows, std::string_view indent = "");

/// 1234567 as "1,234,567".
std::string digits(std::int64_t number);

/// 0.0123 as "1.23%", 50 as "5,000%".
std::string percent(double share);

/// `value` with so many places behind the point.
std::string fixed(double value, int places);

/// 1.295e17 and "FLOP" as "129.5 PFLOP": with the largest unit of a thousand that leaves at least 1.
std::string with_unit(double number, std::string_view unit);

/// 0.25 as "250 ms", 7,300 as "2.0 h".
std::string duration(double seconds);

/// "1 head", "2 heads".
std::string counted(std::int64_t number, std::string_view noun);

/// A score with four places behind the point, or with two significant digits where these would leave less of it:
/// 0.5123, 0.00032, 4.1e-07.
std::string score_text(double value);

/// Adds the flag --json.
void add_json_flag(CLI::App& app, bool& json);

/// Columns of stdout's terminal, else COLUMNS, else `otherwise`.
std::int64_t terminal_width(std::int64_t otherwise = 80);

/// Colour on a terminal unless NO_COLOR is set or TERM is dumb; else Unicode where the locale is UTF-8; else ASCII.
inspect::TerminalStyle terminal_style();

}  // namespace weft::cli
