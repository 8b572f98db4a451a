// SPDX-License-Identifier: Apache-2.0
// TensorBoard event files: scalars over steps, as TFRecords (length and data, each with a masked CRC32C) of Event
// protobufs. Append-only: after a crash, readers skip a torn last record.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "weft/core/descriptor.h"

namespace weft::formats {

/// Appends to one event file; buffers up to 64 KB.
class EventWriter {
 public:
  /// Makes `events.out.tfevents.<time>.<host>.weft` in `directory` (made if missing), with a name after those of all
  /// event files there. With `first_step` above 0, TensorBoard drops what earlier files say about that step and later
  /// ones: pass the next step when a run resumes.
  explicit EventWriter(const std::filesystem::path& directory, std::int64_t first_step = 0);
  ~EventWriter();  ///< flushes, without a word when that fails
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  /// `value` is stored as float32; `wall_time` in seconds since 1970.
  void scalar(std::string_view tag, double value, std::int64_t step, double wall_time);
  /// Hands all that was written to the operating system. After an error the file ends with its last whole record.
  void flush();
  const std::filesystem::path& path() const noexcept { return file_.path(); }

 private:
  void record(std::string_view event);

  Descriptor file_;
  std::string pending_;
};

/// CRC-32C (Castagnoli) of `bytes`, and TFRecord's masked form of it.
std::uint32_t crc32c(std::string_view bytes) noexcept;
std::uint32_t masked_crc32c(std::string_view bytes) noexcept;

}  // namespace weft::formats
