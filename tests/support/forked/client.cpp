// SPDX-License-Identifier: Apache-2.0
// Does what `weft` does, by a fork of the server that WEFT_FORK_SERVER names (see server.cpp): the same files, folder,
// variables, exit status and signal. Signals that ask for an end are handed on; when this ends, so does the run.
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "support/forked/message.h"

namespace {

int server = -1;

int give_up(const char* what) {
  std::perror(what);
  return 125;
}

void hand_on(int number) {
  const auto byte = static_cast<char>(number);
  ::send(server, &byte, 1, MSG_NOSIGNAL);
}

// Those that are ignored here too: the run, whose server has the same rules, may have asked for them.
void hand_on_signals() {
  struct sigaction action = {};
  action.sa_handler = hand_on;
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
    ::sigaction(number, &action, nullptr);
  }
}

bool connect_to(const char* path) {
  const sockaddr_un address = weft::test::address_of(path);
  server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return server >= 0 && ::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

weft::test::ForkRequest own_request(int count, char** arguments) {
  weft::test::ForkRequest request;
  char* folder = ::get_current_dir_name();
  request.directory = folder == nullptr ? "." : folder;
  std::free(folder);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  request.mask = std::to_string(mask);
  request.arguments.assign(arguments, arguments + count);
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("WEFT_FORK")) {
      request.environment.emplace_back(*variable);
    }
  }
  return request;
}

}  // namespace

int main(int count, char** arguments) {
  const char* path = std::getenv("WEFT_FORK_SERVER");
  if (path == nullptr || !weft::test::fits_in_address(path) || !connect_to(path)) {
    return give_up("forked client: WEFT_FORK_SERVER names no server");
  }
  if (!weft::test::send_request(server, own_request(count, arguments))) {
    return give_up("forked client: the server takes no request");
  }
  hand_on_signals();
  int status = 0;
  if (!weft::test::receive_bytes(server, &status, sizeof(status))) {
    return give_up("forked client: the server ended");
  }
  if (WIFSIGNALED(status)) {
    std::signal(WTERMSIG(status), SIG_DFL);
    std::raise(WTERMSIG(status));
  }
  return WEXITSTATUS(status);
}
