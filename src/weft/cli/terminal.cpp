// SPDX-License-Identifier: Apache-2.0
// Asks the terminal and the environment. NO_COLOR counts when it is set and not empty (no-color.org).
#include "weft/cli/terminal.h"

#include <charconv>
#include <string>

#include <sys/ioctl.h>
#include <unistd.h>

#include "weft/core/environment.h"

namespace weft::cli {
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

pattern::TerminalStyle terminal_style() {
  const bool wants_colour = environment("NO_COLOR").value_or("").empty() && environment("TERM").value_or("") != "dumb";
  if (isatty(STDOUT_FILENO) == 1 && wants_colour) {
    return pattern::TerminalStyle::kColour;
  }
  return locale_is_utf8() ? pattern::TerminalStyle::kUnicode : pattern::TerminalStyle::kAscii;
}

}  // namespace weft::cli
