// SPDX-License-Identifier: Apache-2.0
// Pictures and sounds that tests make: PNG chunk by chunk, so that every byte can be wrong, and WAV.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/readers/media/picture.h"

namespace weft::test {

/// A smooth picture with a rim, no two of them alike.
inline readers::Picture drawn_picture(const readers::PictureShape& shape, int number) {
  readers::Picture picture{shape, {}};
  for (std::int64_t i = 0; i < shape.bytes(); ++i) {
    const std::int64_t pixel = i / shape.channels;
    const std::int64_t shade =
        pixel / shape.width * 7 + pixel % shape.width * 3 + i % shape.channels * 40 + number * 11;
    picture.bytes.push_back(static_cast<unsigned char>(shade));
  }
  return picture;
}

inline std::string ppm_of(const readers::Picture& picture) {
  const readers::PictureShape& shape = picture.shape;
  return concat(shape.channels == 3 ? "P6" : "P5", "\n# drawn\n", shape.width, " ", shape.height, "\n255\n",
                std::string(picture.bytes.begin(), picture.bytes.end()));
}

inline std::string big_endian_text(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) {
    text += static_cast<char>(value >> (8 * i));
  }
  return text;
}

/// A chunk of PNG with its length and its checksum, to which `spoil` is added.
inline std::string png_chunk(const std::string& name, const std::string& data, std::uint64_t spoil = 0) {
  const std::string checked = name + data;
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()));
  return big_endian_text(data.size(), 4) + checked + big_endian_text(sum + spoil, 4);
}

/// The header chunk. `colour`: 0 grey, 2 RGB, 3 palette, 4 grey and alpha, 6 RGB and alpha.
inline std::string png_header(std::uint64_t width, std::uint64_t height, char bits, char colour, char interlaced = 0) {
  return png_chunk("IHDR", big_endian_text(width, 4) + big_endian_text(height, 4) +
                               std::string{bits, colour, '\0', '\0', interlaced});
}

/// The pixels' chunk, compressed; `raster` has the filter byte before each row.
inline std::string png_pixels(const std::string& raster, std::uint64_t spoil = 0) {
  uLongf size = compressBound(raster.size());
  std::string packed(size, '\0');
  compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(raster.data()),
           raster.size());
  packed.resize(size);
  return png_chunk("IDAT", packed, spoil);
}

inline std::string png_file(const std::string& chunks) {
  return std::string("\x89PNG\r\n\x1a\n", 8) + chunks + png_chunk("IEND", "");
}

inline std::string little_endian_text(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) {
    text += static_cast<char>(value >> (8 * i));
  }
  return text;
}

inline std::string wav_chunk(const std::string& name, const std::string& data) {
  return name + little_endian_text(data.size(), 4) + data + std::string(data.size() % 2, '\0');
}

/// What a WAV says of itself.
struct WavSettings {
  std::uint64_t channels = 1;
  std::uint64_t rate = 8000;
  std::uint64_t bits = 16;
  std::uint64_t tag = 1;
};

inline std::string wav_format(const WavSettings& settings) {
  const std::uint64_t frame = settings.channels * settings.bits / 8;
  return wav_chunk("fmt ", little_endian_text(settings.tag, 2) + little_endian_text(settings.channels, 2) +
                               little_endian_text(settings.rate, 4) + little_endian_text(settings.rate * frame, 4) +
                               little_endian_text(frame, 2) + little_endian_text(settings.bits, 2));
}

inline std::string wav_file(const std::string& chunks) {
  return "RIFF" + little_endian_text(chunks.size() + 4, 4) + "WAVE" + chunks;
}

/// Samples of 16 or 8 bits, interleaved.
inline std::string wav_samples(const std::vector<int>& samples, int bytes) {
  std::string data;
  for (const int sample : samples) {
    data += little_endian_text(static_cast<std::uint64_t>(sample), bytes);
  }
  return wav_chunk("data", data);
}

}  // namespace weft::test
