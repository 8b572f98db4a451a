// SPDX-License-Identifier: Apache-2.0
// Servers that begin or end at the same time take turns: whoever looks at the file, makes or removes it holds the lock
// of its directory, which leaves nothing behind.
#include "weft/server/socket_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"

namespace weft::server {
namespace {

constexpr mode_t kForOthers = 0077;

std::string shown(const std::filesystem::path& path) { return quote(path.native(), 4096); }

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& reason, const std::string& hint) {
  throw Error(ErrorKind::kIo, concat("cannot listen on ", shown(path), ": ", reason), hint);
}

[[noreturn]] void fail_of_system(const std::filesystem::path& path) {
  refuse(path, std::strerror(errno),
         concat(option("unix_socket"), " names a file that is made in a directory of yours"));
}

class DirectoryLock {
 public:
  explicit DirectoryLock(const std::filesystem::path& file)
      : directory_(file.has_parent_path() ? file.parent_path() : std::filesystem::path("."), O_RDONLY | O_DIRECTORY) {
    while (::flock(directory_.number(), LOCK_EX) != 0 && errno == EINTR) {
    }
  }

 private:
  Descriptor directory_;
};

sockaddr_un address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& name = path.native();
  if (name.empty() || name.size() >= sizeof(address.sun_path) || name.find('\0') != std::string::npos) {
    refuse(path, concat("the path of a socket has 1 to ", sizeof(address.sun_path) - 1, " bytes, found ", name.size()),
           concat("give a shorter path to ", option("unix_socket")));
  }
  std::copy(name.begin(), name.end(), address.sun_path);
  return address;
}

int new_socket(const std::filesystem::path& path) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) {
    fail_of_system(path);
  }
  return socket;
}

}  // namespace

SocketFile::SocketFile(std::filesystem::path path) : path_(std::move(path)) {
  address_of(path_);
  const DirectoryLock lock(path_);
  require_free();
  bind();
}

// Under the lock: nothing has the name, or what a dead server left, which is removed.
void SocketFile::require_free() const {
  struct stat found{};
  if (::lstat(path_.c_str(), &found) != 0) {
    if (errno != ENOENT) {
      fail_of_system(path_);
    }
    return;
  }
  if (!S_ISSOCK(found.st_mode)) {
    refuse(path_, "there is a file of that name, which is no socket",
           concat("give another name to ", option("unix_socket")));
  }
  const sockaddr_un address = address_of(path_);
  const int client = new_socket(path_);
  const int failed = ::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ? errno : 0;
  ::close(client);
  if (failed == ECONNREFUSED) {
    if (::unlink(path_.c_str()) != 0 && errno != ENOENT) {
      fail_of_system(path_);
    }
  } else if (failed != ENOENT) {
    refuse(path_, "the address is in use: a program listens on this socket",
           concat("end it, or give another ", option("unix_socket")));
  }
}

// Under the lock. The file has its rights when it appears, and takes connections from listen() on only.
void SocketFile::bind() {
  const sockaddr_un address = address_of(path_);
  socket_ = new_socket(path_);
  const mode_t before = ::umask(kForOthers);
  const int failed = ::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ? errno : 0;
  ::umask(before);
  if (failed != 0) {
    ::close(release());
    errno = failed;
    fail_of_system(path_);
  }
  file_ = Descriptor(path_, O_PATH | O_NOFOLLOW);
  if (::listen(socket_, SOMAXCONN) != 0) {
    const int reason = errno;
    ::close(release());
    ::unlink(path_.c_str());
    errno = reason;
    fail_of_system(path_);
  }
}

SocketFile::~SocketFile() {
  remove();
  if (socket_ >= 0) {
    ::close(socket_);
  }
}

int SocketFile::release() noexcept { return std::exchange(socket_, -1); }

void SocketFile::remove() noexcept {
  try {
    const DirectoryLock lock(path_);
    struct stat found{};
    struct stat own{};
    if (::lstat(path_.c_str(), &found) == 0 && ::fstat(file_.number(), &own) == 0 && found.st_dev == own.st_dev &&
        found.st_ino == own.st_ino) {
      ::unlink(path_.c_str());
    }
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the directory is gone, and the file with it
  }
}

}  // namespace weft::server
