// SPDX-License-Identifier: Apache-2.0
// Messages for a person, on stderr, one line each. WEFT_LOG=error|warning|info|debug says how much; warning when it is
// unset. Nothing here goes to stdout, which belongs to results.
#pragma once

#include <string>
#include <string_view>

#include "weft/core/error.h"

namespace weft {

/// From what is always printed to what only a developer wants.
enum class LogLevel { kError, kWarning, kInfo, kDebug };

/// What is printed: set_log_level's value, else WEFT_LOG's (an unknown word counts as warning, and says so once).
LogLevel log_level();
/// Wins over WEFT_LOG from now on, for the whole process.
void set_log_level(LogLevel level);

/// Prints `message` as one line when `level` is on. Safe from several threads; a status line is redrawn below it.
void write_log(LogLevel level, std::string_view message);

/// Prints `line`, which ends with a line end, whatever the level. Safe from several threads, as write_log().
void write_line(std::string line);

/// Draws `line` as the last line of the terminal, in place of the one before; an empty line removes it. Only for a
/// terminal: see core/progress.h.
void show_status_line(std::string_view line);

/// One message out of `parts`, joined as by concat(). Those below the level in force are not even joined.
template <typename... Parts>
void log_error(const Parts&... parts) {
  write_log(LogLevel::kError, concat(parts...));
}

template <typename... Parts>
void log_warning(const Parts&... parts) {
  if (log_level() >= LogLevel::kWarning) {
    write_log(LogLevel::kWarning, concat(parts...));
  }
}

template <typename... Parts>
void log_info(const Parts&... parts) {
  if (log_level() >= LogLevel::kInfo) {
    write_log(LogLevel::kInfo, concat(parts...));
  }
}

template <typename... Parts>
void log_debug(const Parts&... parts) {
  if (log_level() >= LogLevel::kDebug) {
    write_log(LogLevel::kDebug, concat(parts...));
  }
}

}  // namespace weft
