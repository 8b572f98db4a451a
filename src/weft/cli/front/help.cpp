// SPDX-License-Identifier: Apache-2.0
// Wraps CLI11's help, which would let long lines run.
#include "weft/cli/front/help.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <sstream>
#include <utility>

#include "weft/cli/front/commands/table.h"
#include "weft/cli/front/output.h"
#include "weft/core/error.h"

namespace weft::cli {
namespace {

constexpr std::size_t kNameWidth = 34;
constexpr std::size_t kNarrowName = 8;  // below which width of text names get a line for themselves:
constexpr std::size_t kNarrowText = 46;
constexpr std::size_t kWidest = 110;
constexpr std::size_t kNarrowest = 40;
constexpr std::string_view kNegated = "{false}";

std::string about_of(const std::string& name) {
  const Command* command = find_command(name);
  require(command != nullptr, "the command ", name, " has no row in the table of commands");
  return std::string(command->about);
}

/// The words of a text; what stands in single quotes is one word.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  bool quoted = false;
  bool inside = false;
  for (const char c : text) {
    if (c == ' ' && !quoted) {
      inside = false;
      continue;
    }
    quoted = c == '\'' ? !quoted : quoted;
    if (!inside) {
      words.emplace_back();
      inside = true;
    }
    words.back() += c;
  }
  return words;
}

/// A list of choices, a|b|c, that is longer than a line: as much as fits, and the rest, each behind a choice.
std::vector<std::string> pieces_of(std::string word, std::size_t room) {
  std::vector<std::string> pieces;
  while (word.size() > room) {
    const std::size_t bar = word.rfind('|', room - 1);
    if (bar == std::string::npos || bar + 1 == word.size()) {
      break;
    }
    pieces.push_back(word.substr(0, bar + 1));
    word.erase(0, bar + 1);
  }
  pieces.push_back(std::move(word));
  return pieces;
}

/// Lines of `words` behind `indent` blanks: `end` closes a line that goes on.
std::string filled(const std::vector<std::string>& words, std::size_t width, std::size_t indent, std::string_view end) {
  std::vector<std::string> fitting;
  for (const std::string& word : words) {
    std::ranges::move(pieces_of(word, width - indent - end.size()), std::back_inserter(fitting));
  }
  std::string text;
  std::size_t used = indent;
  for (const std::string& word : fitting) {
    const bool begins = used == indent;
    if (!begins && used + 1 + word.size() + end.size() > width) {
      text += std::string(end) + "\n" + std::string(indent, ' ');
      used = indent;
    }
    text += (used == indent ? "" : " ") + word;
    used += word.size() + (used == indent ? 0 : 1);
  }
  return text;
}

}  // namespace

std::size_t help_width() {
  return static_cast<std::size_t>(std::clamp<std::int64_t>(terminal_width(kWidest), kNarrowest, kWidest));
}

std::string wrapped_text(const std::string& text, std::size_t width) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    result += wrapped_line(line, width) + "\n";
  }
  if (!result.empty()) {
    result.pop_back();
  }
  return result;
}

std::string command_path(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : command_path(*app.get_parent()) + " " + app.get_name();
}

HelpFormatter::HelpFormatter() {
  label("Positionals", "Arguments");
  label("Subcommands", "Commands");
  label("SUBCOMMAND", "COMMAND");
  label("OPTIONS", "FLAGS");
}

std::string two_columns(const std::string& name, const std::string& text, std::size_t width) {
  const std::size_t column = width < kNameWidth + kNarrowText ? kNarrowName : kNameWidth;
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    words.push_back(word);
  }
  std::string out = "  " + filled(words_of(name), width, 4, "");
  // A name that fills its column gets a line for itself.
  if (out.size() + 1 >= column) {
    out += "\n" + std::string(column, ' ');
  } else {
    out.resize(column, ' ');
  }
  return out + filled(words, width, column, "") + "\n";
}

std::string wrapped_line(const std::string& line, std::size_t width) {
  if (line.size() <= width) {
    return line;
  }
  const std::size_t indent = line.find_first_not_of(' ');
  const bool is_command = indent >= 2;
  const std::vector<std::string> words = words_of(line);
  if (!is_command) {
    std::istringstream stream(line);
    std::vector<std::string> plain;
    for (std::string word; stream >> word;) {
      plain.push_back(word);
    }
    return filled(plain, width, 0, "");
  }
  return std::string(indent, ' ') + filled(words, width, indent + 2, " \\");
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  const bool is_help_all = !option->get_lnames().empty() && option->get_lnames().front() == "help-all";
  return is_help_all ? std::string() : written_option(option, is_positional);
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode /*mode*/) const {
  return CLI::Formatter::make_help(app, std::move(name), CLI::AppFormatMode::Normal);
}

// The program has its commands by topic, below one heading.
std::string HelpFormatter::make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const {
  const std::string groups = CLI::Formatter::make_subcommands(app, mode);
  return groups.empty() || groups.starts_with("\nCommands:") ? groups : "\nCommands:\n" + groups;
}

std::string HelpFormatter::written_option(const CLI::Option* option, bool is_positional) const {
  std::string name = make_option_name(option, is_positional);
  // CLI11 says what --no-x stands for.
  for (std::size_t value = name.find(kNegated); value != std::string::npos; value = name.find(kNegated)) {
    name.erase(value, kNegated.size());
  }
  for (std::size_t comma = name.find(','); comma != std::string::npos; comma = name.find(',', comma + 2)) {
    name.replace(comma, 1, ", ");
  }
  if (!is_positional) {
    name += option->get_option_text().empty() ? "" : " " + option->get_option_text();
  }
  return two_columns(name, make_option_desc(option), help_width());
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return two_columns(command->get_name(), command->get_description(), help_width());
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  return "\n" + CLI::Formatter::make_usage(app, std::move(name));
}

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return wrapped_text(CLI::Formatter::make_description(app), help_width()) + "\n";
}

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  return wrapped_text(CLI::Formatter::make_footer(app), help_width()) + "\n";
}

std::string HelpFormatter::make_group(std::string group, bool is_positional,
                                      std::vector<const CLI::Option*> options) const {
  // CLI11 puts a blank line behind every group but the last, and one before each.
  std::string text = CLI::Formatter::make_group(group, is_positional, options);
  const std::size_t begin = std::min(text.find_first_not_of('\n'), text.size());
  const std::size_t end = std::min(text.find('\n', begin), text.size());
  text.replace(begin, end - begin, wrapped_line(text.substr(begin, end - begin), help_width()));
  return is_positional || options.front()->get_group() == "Options" ? text : text.substr(1);
}

CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& examples) {
  CLI::App& command = add_command(parent, name, about_of(name), examples);
  command.group(std::string(topic_of(name)));
  return command;
}

CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& about,
                      const std::string& examples) {
  CLI::App& command = *parent.add_subcommand(name, about);
  command.group("Commands");
  command.footer("Examples:\n" + examples);
  return command;
}

void list_command(CLI::App& parent, const std::string& name) {
  parent.add_subcommand(name, about_of(name))->group(std::string(topic_of(name)));
}

}  // namespace weft::cli
