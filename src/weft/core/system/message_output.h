// SPDX-License-Identifier: Apache-2.0
// Messages to a reader who may be slow, stopped or gone. Work must not wait for whoever reads its messages: a terminal
// that was stopped, a pager, a pipe that nobody empties.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

/// Writes whole messages to a descriptor, and leaves out those that do not get through. One thread at a time.
class MessageOutput {
 public:
  explicit MessageOutput(int descriptor) : descriptor_(descriptor) {}

  /// Writes `text`, which may be several lines. Where the reader takes nothing for a fifth of a second, what is left of
  /// the text is lost, and so is, at once, what follows, until the reader takes something again: a line then says how
  /// many lines are missing. A reader that is gone is no error, and no SIGPIPE.
  void write(std::string_view text);

 private:
  bool write_all(std::string_view text);
  void lose(std::string_view text);

  int descriptor_;
  bool stopped_ = false;      // the reader took nothing the last time
  bool within_line_ = false;  // what it took last was no whole line
  std::int64_t lost_ = 0;     // lines
};

/// Puts something into the place of standard input, output and error where they were closed: reading and writing them
/// fails as before, and no file that is opened later gets their number and so what is printed. To be called first.
void hold_closed_streams();

/// From now on this process lives on when the reader of its output goes away: writing then fails.
void ignore_closed_pipes();

/// From now on a write beyond the limit of a file's size (ulimit -f) fails with a reason, where it ended the process.
void ignore_file_size_signal();

}  // namespace weft
