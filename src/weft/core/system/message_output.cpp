// SPDX-License-Identifier: Apache-2.0
// A descriptor of standard error belongs to other processes too, so that it cannot be made one that does not block: it
// is asked whether there is room before each piece, and a piece is no larger than the room that a pipe then has.
#include "weft/core/system/message_output.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "weft/core/error.h"
#include "weft/core/system/pipe_signal.h"

namespace weft {
namespace {

constexpr int kPatience = 200;  // milliseconds

// A reader that is gone counts: the write then says so.
bool has_room(int descriptor, int milliseconds) {
  pollfd asked{descriptor, POLLOUT, 0};
  int found = 0;
  do {
    found = ::poll(&asked, 1, milliseconds);
  } while (found < 0 && errno == EINTR);
  return found != 0;
}

}  // namespace

// False where the reader took no more.
bool MessageOutput::write_all(std::string_view text) {
  while (!text.empty()) {
    if (!has_room(descriptor_, stopped_ ? 0 : kPatience)) {
      lose(text);
      return false;
    }
    const ssize_t written = ::write(descriptor_, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      lose(text);
      return false;
    }
    if (written < 0) {
      return false;  // nobody is left to be told
    }
    within_line_ = written > 0 && text[static_cast<std::size_t>(written) - 1] != '\n';
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void MessageOutput::lose(std::string_view text) {
  stopped_ = true;
  lost_ += std::count(text.begin(), text.end(), '\n');
}

void MessageOutput::write(std::string_view text) {
  const PipeSignalHeld held;
  if (stopped_ && !has_room(descriptor_, 0)) {
    lose(text);
    return;
  }
  if (lost_ > 0) {
    const std::string note = concat(within_line_ ? "\n" : "", "weft: ", lost_, lost_ == 1 ? " line is" : " lines are",
                                    " missing here: nobody read them in time\n");
    lost_ = 0;
    if (!write_all(note)) {
      lose(text);
      return;
    }
  }
  if (write_all(text)) {
    stopped_ = false;
  }
}

void hold_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF) {
      // The lowest number that is free is this one. Opened the wrong way round, so that its use fails.
      [[maybe_unused]] const int held = ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

void ignore_closed_pipes() { std::signal(SIGPIPE, SIG_IGN); }

void ignore_file_size_signal() { std::signal(SIGXFSZ, SIG_IGN); }

}  // namespace weft
