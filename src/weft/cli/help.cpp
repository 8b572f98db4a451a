// SPDX-License-Identifier: Apache-2.0
// Wraps CLI11's help, which would let long lines run.
#include "weft/cli/help.h"

#include <memory>
#include <sstream>

#include "weft/cli/commands/table.h"
#include "weft/core/error.h"

namespace weft::cli {
namespace {

constexpr std::size_t kNameWidth = 34;
constexpr std::size_t kTextWidth = 76;
constexpr std::string_view kNegated = "{false}";

std::string about_of(const std::string& name) {
  const Command* command = find_command(name);
  require(command != nullptr, "the command ", name, " has no row in the table of commands");
  return std::string(command->about);
}

}  // namespace

HelpFormatter::HelpFormatter() {
  label("Positionals", "Arguments");
  label("Subcommands", "Commands");
  label("SUBCOMMAND", "COMMAND");
  label("OPTIONS", "FLAGS");
}

std::string two_columns(const std::string& name, const std::string& text) {
  std::istringstream words(text);
  std::string out = "  " + name;
  // A name that fills its column gets a line of its own.
  if (out.size() + 1 >= kNameWidth) {
    out += "\n" + std::string(kNameWidth, ' ');
  } else {
    out.resize(kNameWidth, ' ');
  }
  std::size_t used = 0;
  for (std::string word; words >> word;) {
    if (used > 0 && used + 1 + word.size() > kTextWidth) {
      out += "\n" + std::string(kNameWidth, ' ');
      used = 0;
    }
    out += (used > 0 ? " " : "") + word;
    used += word.size() + (used > 0 ? 1 : 0);
  }
  return out + "\n";
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
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
  return two_columns(name, make_option_desc(option));
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return two_columns(command->get_name(), command->get_description());
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  return "\n" + CLI::Formatter::make_usage(app, std::move(name));
}

std::string HelpFormatter::make_group(std::string group, bool is_positional,
                                      std::vector<const CLI::Option*> options) const {
  // CLI11 puts a blank line behind every group but the last, and one before each.
  const std::string text = CLI::Formatter::make_group(group, is_positional, options);
  return is_positional || options.front()->get_group() == "Options" ? text : text.substr(1);
}

CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& examples) {
  return add_command(parent, name, about_of(name), examples);
}

CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& about,
                      const std::string& examples) {
  CLI::App& command = *parent.add_subcommand(name, about);
  command.group("Commands");
  command.footer("Examples:\n" + examples);
  return command;
}

void list_command(CLI::App& parent, const std::string& name) {
  parent.add_subcommand(name, about_of(name))->group("Commands");
}

}  // namespace weft::cli
