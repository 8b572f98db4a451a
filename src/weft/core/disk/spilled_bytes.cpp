// SPDX-License-Identifier: Apache-2.0
// Three stretches one behind the other: the front in memory, the file, and what waits to be written.
#include "weft/core/disk/spilled_bytes.h"

#include <algorithm>
#include <cstring>

#include "weft/core/disk/scratch_file.h"
#include "weft/core/error.h"

namespace weft {
namespace {

constexpr std::size_t kWrittenAtOnce = std::size_t{1} << 20;

}  // namespace

void SpilledBytes::append(const void* data, std::size_t bytes) {
  const char* const begin = static_cast<const char*>(data);
  const std::size_t kept = std::min(bytes, most_in_memory_ - front_.size());
  front_.insert(front_.end(), begin, begin + kept);
  back_.insert(back_.end(), begin + kept, begin + bytes);
  if (back_.size() < kWrittenAtOnce) {
    return;
  }
  if (file_.number() < 0) {
    file_ = scratch_file(content_);
  }
  write_scratch(file_, back_.data(), back_.size());
  in_file_ += back_.size();
  back_.clear();
}

void SpilledBytes::read(std::uint64_t place, void* to, std::size_t bytes) const {
  require(place <= size() && bytes <= size() - place, content_, ": ", bytes, " bytes from ", place, " on were asked ",
          "for, and there are ", size());
  char* out = static_cast<char*>(to);
  // Takes what lies in a stretch that begins at byte `first`.
  const auto part_of = [&](std::uint64_t first, std::uint64_t length, const auto& take) {
    if (bytes == 0 || place >= first + length) {
      return;
    }
    const std::size_t count = std::min<std::uint64_t>(bytes, first + length - place);
    take(place - first, count);
    out += count;
    place += count;
    bytes -= count;
  };
  part_of(0, front_.size(), [&](std::uint64_t at, std::size_t count) { std::memcpy(out, front_.data() + at, count); });
  part_of(front_.size(), in_file_, [&](std::uint64_t at, std::size_t count) {
    if (file_.read_at(at, out, count) != count) {
      fail(ErrorKind::kIo, "cannot read '", file_.path().native(), "': it is shorter than what was written to it");
    }
  });
  part_of(front_.size() + in_file_, back_.size(),
          [&](std::uint64_t at, std::size_t count) { std::memcpy(out, back_.data() + at, count); });
}

}  // namespace weft
