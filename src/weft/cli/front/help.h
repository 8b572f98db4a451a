// SPDX-License-Identifier: Apache-2.0
// How `--help` looks: two columns as wide as the terminal, at most 110 characters, each flag with its range and
// default, an example at the end.
#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Formatter.hpp>

namespace weft::cli {

/// CLI11's formatter with Weft's headings, and every flag and command as two_columns().
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_footer(const CLI::App* app) const override;
  std::string make_group(std::string group, bool is_positional, std::vector<const CLI::Option*> options) const override;
  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override;
  /// Everything of the command itself, whatever the mode. Only short_help.h leaves flags out.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;

 protected:
  /// As make_option(), which leaves out --help-all: it is of use beside a short help only.
  std::string written_option(const CLI::Option* option, bool is_positional) const;
};

/// As wide as the terminal, 40 to 110 characters.
std::size_t help_width();

/// Each line of `text` as wrapped_line().
std::string wrapped_text(const std::string& text, std::size_t width);

/// "weft pattern show".
std::string command_path(const CLI::App& app);

/// `name` in a left column, `text` wrapped in the right one, in lines of at most `width` characters; where that leaves
/// little room, `text` goes below `name`.
std::string two_columns(const std::string& name, const std::string& text, std::size_t width = 110);

/// The words of `line` in lines of at most `width` characters. A line that begins with two blanks is a command: it is
/// broken between arguments, with a backslash, and goes on indented.
std::string wrapped_line(const std::string& line, std::size_t width);

/// Adds a command of the table, described as there, with the examples that its help ends with.
CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& examples);

/// Adds a command below another one.
CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& about, const std::string& examples);

/// Adds a command of the table that is listed only: it has no flags and cannot run.
void list_command(CLI::App& parent, const std::string& name);

}  // namespace weft::cli
