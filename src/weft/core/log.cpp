// SPDX-License-Identifier: Apache-2.0
// Messages and the one status line below them, both on stderr under one lock. Nothing here waits for a reader that has
// stopped, or ends with one that has gone: core/system/message_output.h.
#include "weft/core/log.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <string>

#include <unistd.h>

#include "weft/core/environment.h"
#include "weft/core/one_line.h"
#include "weft/core/quote.h"
#include "weft/core/system/message_output.h"
#include "weft/core/work/clients_work.h"

namespace weft {
namespace {

constexpr std::string_view kNames[] = {"error", "warning", "info", "debug"};
constexpr std::size_t kLongestMessage = 16384;  // bytes
constexpr std::string_view kClearLine = "\r\x1b[K";

struct Output {
  std::mutex mutex;
  std::string status;
  MessageOutput written{STDERR_FILENO};
};

// Never destroyed: a message may come while other statics go.
Output& output() {
  static Output& instance = *new Output;
  return instance;
}

LogLevel level_from_environment() {
  const std::string word = environment("WEFT_LOG").value_or("warning");
  const auto found = std::find(std::begin(kNames), std::end(kNames), word);
  if (found == std::end(kNames)) {
    // As an error, which is printed without asking for the level: that question led here.
    write_log(LogLevel::kError, concat("WEFT_LOG must be error, warning, info or debug, found ", quote(word)));
    return LogLevel::kWarning;
  }
  return static_cast<LogLevel>(found - std::begin(kNames));
}

// -1 until set_log_level: then the environment decides.
std::atomic<int> chosen_level{-1};

}  // namespace

LogLevel log_level() {
  const int chosen = chosen_level.load(std::memory_order_relaxed);
  if (chosen >= 0) {
    return static_cast<LogLevel>(chosen);
  }
  static const LogLevel from_environment = level_from_environment();
  return from_environment;
}

void set_log_level(LogLevel level) { chosen_level.store(static_cast<int>(level), std::memory_order_relaxed); }

void write_log(LogLevel level, std::string_view message) {
  if (level == LogLevel::kWarning && is_clients_work()) {
    level = LogLevel::kDebug;
  }
  if (level != LogLevel::kError && log_level() < level) {
    return;
  }
  const bool is_long = message.size() > kLongestMessage;
  write_line(concat("weft: ", kNames[static_cast<int>(level)], ": ", message.substr(0, kLongestMessage),
                    is_long ? "..." : "", "\n"));
}

void write_line(std::string line) {
  if (plain_length(line) < line.size()) {  // what a file of other people says must not steer the terminal
    line = visible_text(line);
  }
  Output& out = output();
  const std::lock_guard lock(out.mutex);
  // The status line is wiped, the message takes its place, and it is drawn again below.
  if (!out.status.empty()) {
    line = std::string(kClearLine) + line + out.status;
  }
  // One call for a whole message, so that lines of several processes on one terminal stay whole.
  out.written.write(line);
}

void show_status_line(std::string_view line) {
  Output& out = output();
  const std::lock_guard lock(out.mutex);
  if (line.empty() && out.status.empty()) {
    return;
  }
  out.status = line;
  out.written.write(concat(kClearLine, line));
}

}  // namespace weft
