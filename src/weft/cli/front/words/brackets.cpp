// SPDX-License-Identifier: Apache-2.0
// The mark is a control byte at the end, so that the argument no longer ends in a bracket.
#include "weft/cli/front/words/brackets.h"

namespace weft::cli {
namespace {

constexpr char kBracketMark = '\x1f';

}  // namespace

std::vector<std::string> marked_arguments(int count, char** arguments) {
  std::vector<std::string> marked(arguments, arguments + count);
  for (std::string& argument : marked) {
    if (argument.starts_with('[') && argument.ends_with(']')) {
      argument += kBracketMark;
    }
  }
  return marked;
}

std::string unmarked(std::string argument) {
  if (argument.starts_with('[') && argument.ends_with(kBracketMark)) {
    argument.pop_back();
  }
  return argument;
}

void unmark_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() > 0) {
      option->transform([](std::string value) { return unmarked(std::move(value)); }, "");
    }
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    unmark_values(*command);
  }
}

}  // namespace weft::cli
