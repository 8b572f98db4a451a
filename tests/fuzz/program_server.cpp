// SPDX-License-Identifier: Apache-2.0
// Runs the command line many times at the price of one start: LibTorch is loaded once, and each run is a fork.
// Standard input: a JSON object a line, with `arguments` and the working `directory`. Standard output: for each, one
// with `exit` (null after a signal), `signal`, `seconds` of processor, `peak_bytes` of memory and `stderr`.
// Usage: PROGRAM [SECONDS]; a run that needs more processor than that (default 20) ends by a signal.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "weft/cli/front/run.h"

namespace {

using Json = nlohmann::json;

constexpr rlim_t kAddressSpace = rlim_t{12} << 30;  // LibTorch's libraries and threads map some of it without using it
constexpr unsigned kWallSeconds = 120;              // against a run that waits and needs no processor
constexpr std::size_t kLargestError = 1 << 16;

void limit(int resource, rlim_t value) {
  const rlimit bounds = {value, value};
  if (::setrlimit(static_cast<__rlimit_resource>(resource), &bounds) != 0) {
    _exit(125);
  }
}

[[noreturn]] void run_child(const Json& request, int errors, rlim_t seconds) {
  if (::chdir(request.at("directory").get<std::string>().c_str()) != 0) {
    _exit(125);
  }
  const int nothing = ::open("/dev/null", O_RDWR);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, seconds);
  limit(RLIMIT_AS, kAddressSpace);
  ::alarm(kWallSeconds);
  auto words = request.at("arguments").get<std::vector<std::string>>();
  words.insert(words.begin(), "weft");
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  const int code = weft::cli::run(static_cast<int>(words.size()), pointers.data());
  std::cout.flush();
  _exit(code);
}

std::string read_errors(int file) {
  std::string text(kLargestError, '\0');
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

Json run_once(const Json& request, rlim_t limit_seconds) {
  const int errors = ::memfd_create("stderr", 0);
  const pid_t child = ::fork();
  if (errors < 0 || child < 0) {
    std::perror("program_server");
    std::exit(1);
  }
  if (child == 0) {
    run_child(request, errors, limit_seconds);
  }
  int status = 0;
  rusage usage = {};
  ::wait4(child, &status, 0, &usage);
  Json answer = {{"exit", WIFEXITED(status) ? Json(WEXITSTATUS(status)) : Json()},
                 {"signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0},
                 {"seconds", seconds(usage.ru_utime) + seconds(usage.ru_stime)},
                 {"peak_bytes", std::int64_t{1024} * usage.ru_maxrss},
                 {"stderr", read_errors(errors)}};
  ::close(errors);
  return answer;
}

}  // namespace

int main(int count, char** values) {
  const rlim_t limit_seconds = count > 1 ? std::stoul(values[1]) : 20;
  std::string line;
  while (std::getline(std::cin, line)) {
    // Bytes of standard error that are no UTF-8 are replaced: the answer must be JSON whatever a run printed.
    std::cout << run_once(Json::parse(line), limit_seconds).dump(-1, ' ', false, Json::error_handler_t::replace)
              << std::endl;
  }
  return 0;
}
