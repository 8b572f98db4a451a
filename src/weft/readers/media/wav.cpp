// SPDX-License-Identifier: Apache-2.0
// RIFF's chunks: a name of four bytes, a length, the bytes, and one byte more where the length is odd.
#include "weft/readers/media/wav.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/readers/media/mu_law.h"
#include "weft/readers/media/plain_file.h"

namespace weft::readers {
namespace {

constexpr int kMostChunks = 1000;  // before the samples
constexpr std::int64_t kBytesAtOnce = std::int64_t{1} << 20;
constexpr std::uint64_t kPcm = 1;
constexpr std::uint64_t kMuLaw = 7;            // ITU-T G.711, 8 bits a sample
constexpr std::uint64_t kExtensible = 0xFFFE;  // the real format stands in the chunk's bytes 24 and 25

template <typename... Parts>
[[noreturn]] void fail_wav(const Descriptor& file, const Parts&... parts) {
  fail(ErrorKind::kFormat, quote(file.path().native(), 4096), ", a WAV: ", parts...);
}

std::uint64_t little_endian(const unsigned char* bytes, int count) {
  std::uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i) {
    value = value << 8 | bytes[i];
  }
  return value;
}

std::string_view text_at(const unsigned char* bytes) { return {reinterpret_cast<const char*>(bytes), 4}; }

// Bytes of mu-law of all samples of 16 bits: the curve costs a logarithm.
const std::vector<unsigned char>& mu_law_table() {
  static const std::vector<unsigned char> table = [] {
    std::vector<unsigned char> bytes(65536);
    for (int bits = 0; bits < 65536; ++bits) {
      bytes[static_cast<std::size_t>(bits)] = mu_law(static_cast<double>(static_cast<std::int16_t>(bits)) / 32768.0);
    }
    return bytes;
  }();
  return table;
}

// The bits of a signed sample of 16: samples of 8 bits are unsigned with silence at 128.
std::size_t pcm(const unsigned char* sample, std::int64_t width) {
  return width == 1 ? static_cast<std::size_t>(sample[0] ^ 0x80U) << 8 : little_endian(sample, 2);
}

// Of the sample of 16 bits that G.711 gives a byte: its bits inverted are a sign, three bits of exponent and four of
// mantissa, and the curve is in pieces: ((2 mantissa + 33) 2^exponent - 33) steps of 1/8192.
unsigned char mu_law_of_g711(unsigned char byte) {
  const unsigned int bits = byte ^ 0xFFU;
  const int magnitude = static_cast<int>(((2 * (bits & 0xFU) + 33) << (bits >> 4 & 0x7U)) - 33);
  const int sample = (bits & 0x80U) != 0 ? -magnitude : magnitude;
  return mu_law(static_cast<double>(sample) / 8192.0);
}

const std::array<unsigned char, 256>& g711_table() {
  static const std::array<unsigned char, 256> table = [] {
    std::array<unsigned char, 256> bytes{};
    for (unsigned int byte = 0; byte < bytes.size(); ++byte) {
      bytes[byte] = mu_law_of_g711(static_cast<unsigned char>(byte));
    }
    return bytes;
  }();
  return table;
}

}  // namespace

WavFile::WavFile(const std::filesystem::path& path) : file_(open_plain(path)) {
  std::array<unsigned char, 12> head{};
  const std::size_t got = file_.read_at(0, head.data(), head.size());
  if (got != head.size() || text_at(head.data()) != "RIFF" || text_at(&head[8]) != "WAVE") {
    fail(ErrorKind::kFormat, quote(path.native(), 4096), ": expected a WAV, which begins with RIFF, a length and ",
         "WAVE, found ", quote({reinterpret_cast<const char*>(head.data()), got}));
  }
  std::uint64_t offset = head.size();
  for (int chunk = 0; chunk < kMostChunks; ++chunk) {
    if (file_.read_at(offset, head.data(), 8) != 8) {
      fail_wav(file_, "expected a chunk 'data' with the samples, found the end of the file after ", chunk, " chunks");
    }
    const std::uint64_t bytes = little_endian(&head[4], 4);
    offset += 8;
    if (text_at(head.data()) == "fmt ") {
      read_format(offset, bytes);
    } else if (text_at(head.data()) == "data") {
      read_data(offset, bytes);
      return;
    }
    offset += bytes + bytes % 2;
  }
  fail_wav(file_, "expected a chunk 'data' among the first ", kMostChunks);
}

void WavFile::read_format(std::uint64_t offset, std::uint64_t bytes) {
  std::array<unsigned char, 26> format{};
  const std::size_t got = file_.read_at(offset, format.data(), std::min<std::uint64_t>(format.size(), bytes));
  if (got < 16) {
    fail_wav(file_, "its chunk 'fmt ' must have at least 16 bytes, found ", got);
  }
  std::uint64_t tag = little_endian(format.data(), 2);
  tag = tag == kExtensible && got == format.size() ? little_endian(&format[24], 2) : tag;
  channels_ = static_cast<std::int64_t>(little_endian(&format[2], 2));
  rate_ = static_cast<std::int64_t>(little_endian(&format[4], 4));
  bits_ = static_cast<std::int64_t>(little_endian(&format[14], 2));
  mu_law_ = tag == kMuLaw;
  if (!(mu_law_ && bits_ == 8) && (tag != kPcm || (bits_ != 8 && bits_ != 16))) {
    fail_wav(file_, "expected PCM (format 1) of 8 or 16 bits, or mu-law (format 7) of 8, found format ", tag, " of ",
             bits_, " bits; `sox in.wav -b 16 -e signed out.wav` converts it");
  }
  const std::uint64_t frame = little_endian(&format[12], 2);
  if (channels_ < 1 || rate_ < 1 || frame != static_cast<std::uint64_t>(channels_ * bits_ / 8)) {
    fail_wav(file_, "expected at least one channel, a rate, and frames of channels times ", bits_ / 8, " bytes, found ",
             channels_, " channels, ", rate_, " samples a second, frames of ", frame, " bytes");
  }
}

void WavFile::read_data(std::uint64_t offset, std::uint64_t bytes) {
  if (channels_ == 0) {
    fail_wav(file_, "expected a chunk 'fmt ' before the chunk 'data', found none");
  }
  const std::uint64_t there = file_.size() - std::min(file_.size(), offset);
  const auto frame = static_cast<std::uint64_t>(channels_ * bits_ / 8);
  if (there < bytes || bytes % frame != 0) {
    fail_wav(file_, "expected ", bytes, " bytes of samples, a multiple of ", frame,
             ", as the chunk 'data' says, found ", there, " bytes");
  }
  data_ = offset;
  samples_ = static_cast<std::int64_t>(bytes / frame);
}

void WavFile::read(std::int64_t begin, std::int64_t count, char* mu_law_bytes) const {
  require(begin >= 0 && count >= 0 && begin <= samples_ - count, "samples ", begin, " to ", begin + count,
          " are not in a file of ", samples_);
  const std::int64_t width = bits_ / 8;
  const std::int64_t frame = channels_ * width;
  std::vector<unsigned char> frames;
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t piece = std::min(std::max<std::int64_t>(1, kBytesAtOnce / frame), count - done);
    frames.resize(static_cast<std::size_t>(piece * frame));
    const auto offset = data_ + static_cast<std::uint64_t>((begin + done) * frame);
    if (file_.read_at(offset, frames.data(), frames.size()) != frames.size()) {
      fail(ErrorKind::kIo, quote(file_.path().native(), 4096), " has shrunk while it was read");
    }
    for (std::int64_t i = 0; i < piece; ++i) {
      const unsigned char* sample = frames.data() + i * frame;
      mu_law_bytes[done + i] =
          static_cast<char>(mu_law_ ? g711_table()[sample[0]] : mu_law_table()[pcm(sample, width)]);
    }
    done += piece;
  }
}

}  // namespace weft::readers
