// SPDX-License-Identifier: Apache-2.0
// The file of a Unix socket: it belongs to the server that made it, and to nobody else. One that a dead server left is
// replaced; one that answers is not; only its owner may connect, from the first moment on.
#pragma once

#include <filesystem>

#include "weft/core/descriptor.h"

namespace weft::server {

class SocketFile {
 public:
  /// Makes `path`, and a socket that listens there. Errors: kIo where a server listens there already, where something
  /// else has that name, and those of the system.
  explicit SocketFile(std::filesystem::path path);
  /// As remove().
  ~SocketFile();
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;

  /// The socket, which is the caller's from now on.
  int release() noexcept;
  /// Removes the file if it is still the one that the constructor made. Safe from several threads.
  void remove() noexcept;

 private:
  void bind();
  void require_free() const;

  std::filesystem::path path_;
  int socket_ = -1;
  Descriptor file_;  // while it is open, no other file has its number
};

}  // namespace weft::server
