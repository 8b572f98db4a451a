// SPDX-License-Identifier: Apache-2.0
// What a forked run is asked for, over a local stream socket: strings with their lengths before them, and standard
// input, output and error as open files.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace weft::test {

inline bool fits_in_address(std::string_view path) { return path.size() < sizeof(sockaddr_un::sun_path); }

/// `path` must fit.
inline sockaddr_un address_of(std::string_view path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

struct ForkRequest {
  std::string directory;
  std::string mask;  // umask, in decimals
  std::vector<std::string> arguments, environment;
  std::array<int, 3> streams = {0, 1, 2};
};

inline bool send_bytes(int socket, const void* bytes, std::size_t count) {
  const auto* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t sent = ::send(socket, next, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    if (sent <= 0) {
      return false;
    }
    next += sent;
    count -= static_cast<std::size_t>(sent);
  }
  return true;
}

inline bool receive_bytes(int socket, void* bytes, std::size_t count) {
  auto* next = static_cast<char*>(bytes);
  while (count > 0) {
    const ssize_t received = ::recv(socket, next, count, 0);
    if (received < 0 && errno == EINTR) {
      continue;
    }
    if (received <= 0) {
      return false;
    }
    next += received;
    count -= static_cast<std::size_t>(received);
  }
  return true;
}

inline bool send_strings(int socket, const std::vector<std::string>& strings) {
  const std::uint64_t count = strings.size();
  bool sent = send_bytes(socket, &count, sizeof(count));
  for (const std::string& text : strings) {
    const std::uint64_t size = text.size();
    sent = sent && send_bytes(socket, &size, sizeof(size)) && send_bytes(socket, text.data(), size);
  }
  return sent;
}

inline bool receive_strings(int socket, std::vector<std::string>& strings) {
  std::uint64_t count = 0;
  if (!receive_bytes(socket, &count, sizeof(count))) {
    return false;
  }
  strings.resize(count);
  for (std::string& text : strings) {
    std::uint64_t size = 0;
    if (!receive_bytes(socket, &size, sizeof(size))) {
      return false;
    }
    text.resize(size);
    if (!receive_bytes(socket, text.data(), size)) {
      return false;
    }
  }
  return true;
}

/// One byte that carries the three open files.
union StreamsBuffer {
  cmsghdr header;
  std::array<char, CMSG_SPACE(sizeof(int[3]))> bytes;
};

inline bool send_request(int socket, const ForkRequest& request) {
  char byte = 0;
  iovec data = {&byte, 1};
  StreamsBuffer buffer = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = buffer.bytes.data();
  message.msg_controllen = buffer.bytes.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int[3]));
  std::memcpy(CMSG_DATA(header), request.streams.data(), sizeof(int[3]));
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == 1 && send_strings(socket, {request.directory, request.mask}) &&
         send_strings(socket, request.arguments) && send_strings(socket, request.environment);
}

inline bool receive_request(int socket, ForkRequest& request) {
  char byte = 0;
  iovec data = {&byte, 1};
  StreamsBuffer buffer = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = buffer.bytes.data();
  message.msg_controllen = buffer.bytes.size();
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) {
    return false;
  }
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_len != CMSG_LEN(sizeof(int[3]))) {
    return false;
  }
  std::memcpy(request.streams.data(), CMSG_DATA(header), sizeof(int[3]));
  std::vector<std::string> place;
  if (!receive_strings(socket, place) || place.size() != 2) {
    return false;
  }
  request.directory = place[0];
  request.mask = place[1];
  return receive_strings(socket, request.arguments) && receive_strings(socket, request.environment);
}

}  // namespace weft::test
