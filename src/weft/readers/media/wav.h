// SPDX-License-Identifier: Apache-2.0
// WAV: PCM of 8 or 16 bits, or G.711's mu-law, as bytes of mu-law; also as gzip. A file whose chunks promise more than
// it holds is an error: libraries repair such files in silence, and a model would learn from half a recording.
#pragma once

#include <cstdint>
#include <filesystem>

#include "weft/core/descriptor.h"

namespace weft::readers {

/// One file, read at any place.
class WavFile {
 public:
  /// Reads the chunks before the samples. Errors: kIo for what is no regular file; kFormat naming the file, what is
  /// wrong, what is expected and what was found.
  explicit WavFile(const std::filesystem::path& path);

  std::int64_t channels() const noexcept { return channels_; }
  /// Samples a second.
  std::int64_t rate() const noexcept { return rate_; }
  /// Of each channel.
  std::int64_t samples() const noexcept { return samples_; }
  /// Samples [begin, begin + count) of the first channel, a byte each. Errors: kIo for a file that has shrunk.
  void read(std::int64_t begin, std::int64_t count, char* mu_law_bytes) const;

 private:
  void read_format(std::uint64_t offset, std::uint64_t bytes);
  void read_data(std::uint64_t offset, std::uint64_t bytes);

  Descriptor file_;
  std::int64_t channels_ = 0;
  std::int64_t rate_ = 0;
  std::int64_t bits_ = 0;
  bool mu_law_ = false;  // samples are those of G.711
  std::int64_t samples_ = 0;
  std::uint64_t data_ = 0;  // offset of the first sample
};

}  // namespace weft::readers
