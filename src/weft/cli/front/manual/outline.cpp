// SPDX-License-Identifier: Apache-2.0
// A value of several words with bars between them is a choice.
#include "weft/cli/front/manual/outline.h"

#include <algorithm>
#include <sstream>

namespace weft::cli {
namespace {

std::vector<std::string> choices_of(const std::string& value) {
  const bool is_choice =
      value.find('|') != std::string::npos && value.find_first_of(" ()[]<>\"'`$,\\") == std::string::npos;
  std::vector<std::string> choices;
  std::istringstream words(is_choice ? value : "");
  for (std::string word; std::getline(words, word, '|');) {
    choices.push_back(word.ends_with("...") ? word.substr(0, word.size() - 3) : word);
  }
  return choices;
}

OutlinedFlag outlined(const CLI::Option& option) {
  OutlinedFlag flag;
  flag.is_argument = option.get_positional() && option.get_lnames().empty() && option.get_snames().empty();
  for (const std::string& name : option.get_lnames()) {
    flag.names.push_back("--" + name);
  }
  for (const std::string& name : option.get_snames()) {
    flag.names.push_back("-" + name);
  }
  if (flag.is_argument) {
    flag.names = {option.get_name(true)};
  }
  flag.value = option.get_option_text();
  if (flag.value.empty() && option.get_expected_max() > 0 && !flag.is_argument) {
    flag.value = option.get_type_name();
  }
  flag.choices = choices_of(flag.value);
  flag.about = option.get_description();
  flag.group = option.get_group();
  return flag;
}

OutlinedCommand outlined(const CLI::App& app, const std::string& parent) {
  OutlinedCommand command;
  command.name = app.get_name();
  command.path = parent.empty() ? command.name : parent + " " + command.name;
  command.about = app.get_description();
  command.footer = app.get_footer();
  command.usage = command.path + " [FLAGS]";
  for (const CLI::Option* option : app.get_options()) {
    command.flags.push_back(outlined(*option));
    if (command.flags.back().is_argument) {
      const std::string& name = command.flags.back().names.front();
      const std::string shown = name + (option->get_expected_max() > 1 ? "..." : "");
      command.usage += option->get_required() ? " " + shown : " [" + shown + "]";
    }
  }
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    command.commands.push_back(outlined(*below, command.path));
  }
  command.usage += command.commands.empty() ? "" : " COMMAND";
  return command;
}

void collect(const OutlinedCommand& command, std::vector<const OutlinedCommand*>& found) {
  found.push_back(&command);
  for (const OutlinedCommand& below : command.commands) {
    collect(below, found);
  }
}

}  // namespace

OutlinedCommand outline_of(const CLI::App& app) { return outlined(app, ""); }

std::vector<const OutlinedCommand*> all_commands(const OutlinedCommand& root) {
  std::vector<const OutlinedCommand*> found;
  collect(root, found);
  return found;
}

}  // namespace weft::cli
