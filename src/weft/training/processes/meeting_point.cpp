// SPDX-License-Identifier: Apache-2.0
// getaddrinfo, bind and connect. A name may have several addresses: the first process listens at the first one that is
// its machine's, the others try all of them.
#include "weft/training/processes/meeting_point.h"

#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"

namespace weft::training {
namespace {

using Clock = std::chrono::steady_clock;
using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

constexpr int kBacklog = 1024;
constexpr std::chrono::milliseconds kRetry{200};
// For one address to answer; somewhat is left also for the last attempt.
constexpr std::chrono::milliseconds kShortAttempt{500};
constexpr std::chrono::milliseconds kLongAttempt{5000};

// Closed at the end unless it was released.
class Socket {
 public:
  explicit Socket(const addrinfo& address, int flags)
      : number_(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0)) {}
  ~Socket() {
    if (number_ >= 0) {
      ::close(number_);
    }
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int number() const noexcept { return number_; }
  int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_;
};

std::string reason_of(int error_number) { return std::generic_category().message(error_number); }

// The addresses of a name, or why there are none: EAI_AGAIN may pass, anything else does not.
std::pair<Addresses, int> resolve(const ProcessPlace& place) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(place.address.c_str(), std::to_string(place.port).c_str(), &hints, &found);
  return {Addresses(failure == 0 ? found : nullptr, &::freeaddrinfo), failure};
}

[[noreturn]] void fail_to_resolve(const ProcessPlace& place, int failure) {
  fail(ErrorKind::kArgument, "MASTER_ADDR must be an address or the name of a machine, found ", quote(place.address),
       ": ", ::gai_strerror(failure));
}

std::string in_digits(const addrinfo& address) {
  std::array<char, NI_MAXHOST> text{};
  ::getnameinfo(address.ai_addr, address.ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return text.data();
}

// The number of a socket that listens there, or -1 and why in errno.
int try_to_listen(const addrinfo& address) {
  Socket socket(address, 0);
  const int on = 1;
  // A port that an earlier run has just left is free.
  const bool listens =
      socket.number() >= 0 && ::setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
      ::bind(socket.number(), address.ai_addr, address.ai_addrlen) == 0 && ::listen(socket.number(), kBacklog) == 0;
  return listens ? socket.release() : -1;
}

// Whether somebody accepts there within `patience`; otherwise why not, as errno has it.
int try_to_connect(const addrinfo& address, std::chrono::milliseconds patience) {
  const Socket socket(address, SOCK_NONBLOCK);
  if (socket.number() < 0) {
    return errno;
  }
  if (::connect(socket.number(), address.ai_addr, address.ai_addrlen) == 0) {
    return 0;
  }
  if (errno != EINPROGRESS) {
    return errno;
  }
  pollfd waiting{socket.number(), POLLOUT, 0};
  if (::poll(&waiting, 1, static_cast<int>(patience.count())) <= 0) {
    return ETIMEDOUT;
  }
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

}  // namespace

ListeningSocket listen_at(const ProcessPlace& place) {
  const auto [addresses, failure] = resolve(place);
  if (failure != 0) {
    fail_to_resolve(place, failure);
  }
  int reason = 0;
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    if (const int number = try_to_listen(*one); number >= 0) {
      return {number, in_digits(*one)};
    }
    reason = errno;
  }
  const std::string text = concat("process 0 of ", place.size, " cannot listen at ", quote(place.address), ", port ",
                                  place.port, ": ", reason_of(reason));
  if (reason == EADDRNOTAVAIL) {
    throw Error(ErrorKind::kArgument, text, "MASTER_ADDR must be an address of the machine that process 0 runs on");
  }
  throw Error(
      ErrorKind::kIo, text,
      reason == EADDRINUSE ? "another program uses the port: set MASTER_PORT to a free one for all processes" : "");
}

std::string reach(const ProcessPlace& place, Deadline deadline) {
  std::string reason;
  do {
    const auto [addresses, failure] = resolve(place);
    if (failure != 0 && failure != EAI_AGAIN) {
      fail_to_resolve(place, failure);
    }
    reason = failure == 0 ? reason : ::gai_strerror(failure);
    for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      const int error = try_to_connect(*one, std::clamp(left, kShortAttempt, kLongAttempt));
      if (error == 0) {
        return in_digits(*one);
      }
      reason = reason_of(error);
    }
    std::this_thread::sleep_for(Clock::now() < deadline ? kRetry : std::chrono::milliseconds(0));
  } while (Clock::now() < deadline);
  throw Error(ErrorKind::kIo,
              concat("process ", place.rank, " of ", place.size, " cannot reach process 0 at ", quote(place.address),
                     ", port ", place.port, ": ", reason),
              "all processes need the same MASTER_ADDR and MASTER_PORT, those of the machine of process 0");
}

void check_interface(const std::string& name) {
  if (::if_nametoindex(name.c_str()) != 0) {
    return;
  }
  std::vector<std::string> known;
  struct if_nameindex* const interfaces = ::if_nameindex();
  for (const struct if_nameindex* one = interfaces; one != nullptr && one->if_index != 0; ++one) {
    known.emplace_back(one->if_name);
  }
  if (interfaces != nullptr) {
    ::if_freenameindex(interfaces);
  }
  fail(ErrorKind::kArgument, "GLOO_SOCKET_IFNAME must be a network interface of this machine, ", joined(known, ", "),
       ", found ", quote(name));
}

}  // namespace weft::training
