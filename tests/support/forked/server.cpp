// SPDX-License-Identifier: Apache-2.0
// Runs the command line for many clients at the price of one start: LibTorch, whose loading is most of what a short
// command takes, is loaded once, and each run is a fork. Usage: PROGRAM SOCKET; it prints `ready`, and ends with all
// its runs when its standard input does. The variables that libraries read when they are loaded are those of the
// server.
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>

#include "support/forked/message.h"
#include "weft/cli/front/prepare_process.h"
#include "weft/cli/front/run.h"
#include "weft/cli/front/tensor_part.h"

namespace {

int fail(const char* what) {
  std::perror(what);
  return 125;
}

void close_streams(const weft::test::ForkRequest& request) {
  for (const int stream : request.streams) {
    if (stream > STDERR_FILENO) {
      ::close(stream);
    }
  }
}

// As the program's main.
[[noreturn]] void run_child(const weft::test::ForkRequest& request) {
  for (int stream = 0; stream < 3; ++stream) {
    ::dup2(request.streams[static_cast<std::size_t>(stream)], stream);
  }
  close_streams(request);
  ::umask(static_cast<mode_t>(std::stoul(request.mask)));
  if (::chdir(request.directory.c_str()) != 0) {
    std::_Exit(fail("forked server: the client's folder"));
  }
  ::clearenv();
  for (const std::string& variable : request.environment) {
    const std::size_t end = variable.find('=');
    ::setenv(variable.substr(0, end).c_str(), variable.substr(end + 1).c_str(), 1);
  }
  std::vector<std::string> words = request.arguments;
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  weft::cli::prepare_process();
  const int code = weft::cli::run(static_cast<int>(words.size()), pointers.data());
  // Destructors of LibTorch's tables, which change nothing outside, take 0.15 s of a process: left out.
  std::cout.flush();
  std::fflush(nullptr);
  std::_Exit(code);
}

class Server {
 public:
  Server(int listener, int signals, const sigset_t& before) : listener_(listener), signals_(signals), before_(before) {}

  ~Server() {
    for (const auto& [socket, child] : runs_) {
      ::kill(child, SIGKILL);
    }
  }

  void serve() {
    while (true) {
      std::vector<pollfd> files = {{STDIN_FILENO, POLLIN, 0}, {signals_, POLLIN, 0}, {listener_, POLLIN, 0}};
      for (const auto& [socket, child] : runs_) {
        files.push_back({socket, POLLIN, 0});
      }
      if (::poll(files.data(), files.size(), -1) < 0) {
        continue;
      }
      if (files[0].revents != 0) {
        return;
      }
      for (std::size_t run = 3; run < files.size(); ++run) {
        if (files[run].revents != 0) {
          hear(files[run].fd);
        }
      }
      if (files[1].revents != 0) {
        reap();
      }
      if (files[2].revents != 0) {
        begin();
      }
    }
  }

 private:
  void begin() {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    weft::test::ForkRequest request;
    if (socket < 0 || !weft::test::receive_request(socket, request)) {
      close_streams(request);
      ::close(socket);
      return;
    }
    const pid_t server = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
      // A server that is killed takes its runs with it.
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != server) {
        std::_Exit(125);
      }
      ::close(listener_);
      ::close(signals_);
      ::close(socket);
      for (const auto& [other, process] : runs_) {
        ::close(other);
      }
      ::sigprocmask(SIG_SETMASK, &before_, nullptr);
      run_child(request);
    }
    close_streams(request);
    if (child > 0) {
      runs_[socket] = child;
    } else {
      ::close(socket);
    }
  }

  // A byte is a signal to hand on; the end is that of the client, and the run's.
  void hear(int socket) {
    char number = SIGKILL;
    if (::recv(socket, &number, 1, 0) != 1) {
      number = SIGKILL;
    }
    ::kill(runs_.at(socket), number);
    if (number == SIGKILL) {
      ::waitpid(runs_.at(socket), nullptr, 0);
      runs_.erase(socket);
      ::close(socket);
    }
  }

  void reap() {
    signalfd_siginfo ignored = {};
    if (::read(signals_, &ignored, sizeof(ignored)) < 0) {
      return;
    }
    int status = 0;
    for (pid_t child = 0; (child = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto run =
          std::find_if(runs_.begin(), runs_.end(), [&](const auto& entry) { return entry.second == child; });
      if (run != runs_.end()) {
        weft::test::send_bytes(run->first, &status, sizeof(status));
        ::close(run->first);
        runs_.erase(run);
      }
    }
  }

  int listener_, signals_;
  sigset_t before_;
  std::map<int, pid_t> runs_;  // by the client's socket
};

// A fork has only the thread that forks: what others hold, a lock of an allocator say, would be held for ever.
bool has_one_thread() { return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}) == 1; }

int listen_at(const char* path) {
  const sockaddr_un address = weft::test::address_of(path);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool listens = listener >= 0 &&
                       ::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
                       ::listen(listener, 64) == 0;
  return listens ? listener : -1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2 || !weft::test::fits_in_address(arguments[1])) {
    std::fputs("usage: PROGRAM SOCKET, a path of at most 107 bytes\n", stderr);
    return 2;
  }
  weft::cli::prepare_process();
  weft::cli::tensor_part();
  if (!has_one_thread()) {
    std::fputs("forked server: a library began a thread when it was loaded, which no fork would have\n", stderr);
    return 125;
  }
  const int listener = listen_at(arguments[1]);
  if (listener < 0) {
    return fail("forked server: the socket");
  }
  sigset_t before;
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &ends, &before);
  const int signals = ::signalfd(-1, &ends, SFD_CLOEXEC);
  std::puts("ready");
  std::fflush(stdout);
  Server(listener, signals, before).serve();
  return 0;
}
