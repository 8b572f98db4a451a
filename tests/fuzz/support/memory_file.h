// SPDX-License-Identifier: Apache-2.0
// What fuzzers of readers share: bytes as a file without a disk, read record by record in both modes.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "weft/core/error.h"
#include "weft/readers/reader.h"

namespace weft::fuzz {

/// A file that lives in memory.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : descriptor_(::memfd_create("fuzz", 0)) {
    if (descriptor_ < 0 || ::write(descriptor_, data, size) != static_cast<ssize_t>(size)) {
      std::abort();
    }
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

/// Reads to the end or to an error, which must be one line; returns how many records came before.
template <typename Open>
std::int64_t read_all(const Open& open, bool skip, bool& failed) {
  std::int64_t records = 0;
  try {
    auto reader = open(readers::ReadOptions{skip, 4096});
    typename std::remove_reference_t<decltype(*reader)>::Record record;
    while (reader->next(record)) {
      ++records;
    }
    if (reader->report().records != records ||
        (reader->report().skipped > 0) == reader->report().first_skipped.empty()) {
      std::abort();
    }
  } catch (const readers::MalformedRecord&) {
    failed = true;
    if (skip) {
      std::abort();
    }
  } catch (const Error& error) {
    failed = true;
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) {
      std::abort();
    }
  }
  return records;
}

/// `open(options)` makes a reader over the input. Skipping what is malformed gives at least the records before it.
template <typename Open>
void check_reader(const Open& open) {
  bool failed = false;
  bool failed_skipping = false;
  const std::int64_t before = read_all(open, false, failed);
  const std::int64_t skipping = read_all(open, true, failed_skipping);
  if (skipping < before || (!failed && skipping != before)) {
    std::abort();
  }
}

}  // namespace weft::fuzz
