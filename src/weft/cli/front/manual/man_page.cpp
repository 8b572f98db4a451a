// SPDX-License-Identifier: Apache-2.0
// Text is escaped so that no line of it is a request of roff.
#include "weft/cli/front/manual/man_page.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "weft/core/version.h"

namespace weft::cli {
namespace {

std::string dashed(std::string path) {
  std::replace(path.begin(), path.end(), ' ', '-');
  return path;
}

std::string roff(const std::string& text) {
  std::string result;
  bool begins = true;
  for (const char letter : text) {
    if (begins && (letter == '.' || letter == '\'')) {
      result += "\\&";
    }
    if (letter == '\\') {
      result += "\\e";
    } else if (letter == '-') {
      result += "\\-";
    } else {
      result += letter;
    }
    begins = letter == '\n';
  }
  return result;
}

std::string section(const std::string& name) {
  std::string upper = name;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char letter) {
    return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  });
  return ".SH " + roff(upper) + "\n";
}

std::string flag_entry(const OutlinedFlag& flag) {
  std::string names;
  for (const std::string& name : flag.names) {
    names += (names.empty() ? "" : ", ") + ("\\fB" + roff(name) + "\\fR");
  }
  const std::string value = flag.value.empty() ? "" : " \\fI" + roff(flag.value) + "\\fR";
  return ".TP\n" + names + value + "\n" + roff(flag.about) + "\n";
}

// The groups of flags in their order: arguments first.
std::vector<std::string> groups_of(const OutlinedCommand& command) {
  std::vector<std::string> groups;
  for (const OutlinedFlag& flag : command.flags) {
    if (!flag.is_argument && std::find(groups.begin(), groups.end(), flag.group) == groups.end()) {
      groups.push_back(flag.group);
    }
  }
  return groups;
}

// Lines that begin with two blanks are commands, shown as they are.
std::string footer_text(const std::string& footer) {
  std::string text;
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    if (line == "Examples:") {
      text += section("Examples");
    } else if (line.starts_with("  ")) {
      text += ".nf\n" + roff(line) + "\n.fi\n";
    } else {
      text += line.empty() ? ".PP\n" : roff(line) + "\n";
    }
  }
  return text;
}

}  // namespace

std::string man_page_name(const OutlinedCommand& command) { return dashed(command.path) + ".1"; }

std::string man_page(const OutlinedCommand& command) {
  const std::string name = dashed(command.path);
  std::string page = ".TH \"" + roff(name) + "\" 1 \"\" \"Weft " + std::string(kVersion) + "\" \"Weft\"\n";
  page += section("Name") + roff(name) + " \\- " + roff(command.about) + "\n";
  page += section("Synopsis") + ".B " + roff(command.usage) + "\n";
  std::string arguments;
  for (const OutlinedFlag& flag : command.flags) {
    arguments += flag.is_argument ? flag_entry(flag) : "";
  }
  page += arguments.empty() ? "" : section("Arguments") + arguments;
  for (const std::string& group : groups_of(command)) {
    page += section(group);
    for (const OutlinedFlag& flag : command.flags) {
      page += !flag.is_argument && flag.group == group ? flag_entry(flag) : "";
    }
  }
  if (!command.commands.empty()) {
    page += section("Commands");
    for (const OutlinedCommand& below : command.commands) {
      page += ".TP\n\\fB" + roff(dashed(below.path)) + "\\fR(1)\n" + roff(below.about) + "\n";
    }
  }
  return page + footer_text(command.footer);
}

}  // namespace weft::cli
