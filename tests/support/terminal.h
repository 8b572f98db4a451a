// SPDX-License-Identifier: Apache-2.0
// What a program draws on a terminal.
#pragma once

#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace weft::test {

/// stderr is a pseudo-terminal while this lives; read() is what was drawn there.
class Terminal {
 public:
  Terminal() : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK)), saved_(::dup(STDERR_FILENO)) {
    if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0) {
      return;
    }
    const int slave = ::open(::ptsname(master_), O_RDWR | O_NOCTTY);
    if (slave >= 0) {
      ::dup2(slave, STDERR_FILENO);
      ::close(slave);
      ready_ = true;
    }
  }
  ~Terminal() {
    ::dup2(saved_, STDERR_FILENO);
    ::close(saved_);
    ::close(master_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  bool ready() const { return ready_; }
  std::string read() const {
    char text[4096];
    const ssize_t count = ::read(master_, text, sizeof(text));
    return count > 0 ? std::string(text, static_cast<std::size_t>(count)) : "";
  }

 private:
  int master_;
  int saved_;
  bool ready_ = false;
};

}  // namespace weft::test
