// SPDX-License-Identifier: Apache-2.0
// The one file that sees libpng. Its errors are jumps (setjmp): between a jump and its target there stand only
// functions without destructors, and what a callback throws is kept until libpng is left.
#include "weft/readers/media/png.h"

#include <png.h>

#include <array>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>

#include "weft/core/quote.h"

namespace weft::readers {
namespace {

// Texts, profiles and other chunks that are not pixels: libpng reads through them at the speed of the disk, and nobody
// asks for them.
constexpr std::uint64_t kMostBeside = std::uint64_t{16} << 20;

// The file's or the text's end of a call of libpng.
struct PngIo {
  const Descriptor* file = nullptr;  // when it is read
  std::uint64_t offset = 0;
  std::uint64_t end = UINT64_MAX;  // where it must not read on
  std::string* text = nullptr;     // when it is written
  std::exception_ptr failure = nullptr;
  std::array<char, 200> message = {};
};

void png_reads(png_structp png, png_bytep destination, png_size_t bytes) {
  auto& io = *static_cast<PngIo*>(png_get_io_ptr(png));
  if (bytes > io.end || io.offset > io.end - bytes) {
    png_error(png, "more than 16 MiB of other data stand before or behind its pixels");
  }
  std::size_t got = 0;
  try {
    got = io.file->read_at(io.offset, destination, bytes);
  } catch (...) {
    io.failure = std::current_exception();
  }
  io.offset += got;
  if (got != bytes) {
    png_error(png, "the file ends within it");
  }
}

void png_writes(png_structp png, png_bytep bytes, png_size_t count) {
  auto& io = *static_cast<PngIo*>(png_get_io_ptr(png));
  try {
    io.text->append(reinterpret_cast<const char*>(bytes), count);
  } catch (...) {
    io.failure = std::current_exception();
  }
  if (io.failure) {
    png_error(png, "no memory");
  }
}

void png_flushes(png_structp /*png*/) {}

[[noreturn]] void png_fails(png_structp png, png_const_charp message) {
  auto& io = *static_cast<PngIo*>(png_get_error_ptr(png));
  std::snprintf(io.message.data(), io.message.size(), "%s", message);
  png_longjmp(png, 1);
}

// Warnings are about chunks that do not change the pixels.
void png_warns(png_structp /*png*/, png_const_charp /*message*/) {}

// Whether `step` came to its end. It has no objects with destructors.
template <typename Step>
bool came_through(png_structp png, const Step& step) {
  if (setjmp(png_jmpbuf(png)) != 0) {
    return false;
  }
  step();
  return true;
}

[[noreturn]] void fail_png(const PngIo& io, const std::string& where) {
  if (io.failure) {
    std::rethrow_exception(io.failure);
  }
  malformed(where, ": the data are damaged or cut off: ", quote(io.message.data(), 200));
}

struct PngRead {
  explicit PngRead(PngIo& io) : png(png_create_read_struct(PNG_LIBPNG_VER_STRING, &io, png_fails, png_warns)) {
    info = png == nullptr ? nullptr : png_create_info_struct(png);
    if (info == nullptr) {
      png_destroy_read_struct(&png, nullptr, nullptr);
      throw std::bad_alloc();
    }
    png_set_read_fn(png, &io, png_reads);
  }
  ~PngRead() { png_destroy_read_struct(&png, &info, nullptr); }
  PngRead(const PngRead&) = delete;
  PngRead& operator=(const PngRead&) = delete;

  png_structp png;
  png_infop info;
};

struct PngWrite {
  explicit PngWrite(PngIo& io) : png(png_create_write_struct(PNG_LIBPNG_VER_STRING, &io, png_fails, png_warns)) {
    info = png == nullptr ? nullptr : png_create_info_struct(png);
    if (info == nullptr) {
      png_destroy_write_struct(&png, nullptr);
      throw std::bad_alloc();
    }
    png_set_write_fn(png, &io, png_writes, png_flushes);
  }
  ~PngWrite() { png_destroy_write_struct(&png, &info); }
  PngWrite(const PngWrite&) = delete;
  PngWrite& operator=(const PngWrite&) = delete;

  png_structp png;
  png_infop info;
};

std::string png_where(const Descriptor& file) { return concat(quote(file.path().native(), 4096), ", a PNG"); }

std::int64_t big_endian(const unsigned char* bytes) {
  return std::int64_t{bytes[0]} << 24 | std::int64_t{bytes[1]} << 16 | std::int64_t{bytes[2]} << 8 | bytes[3];
}

std::vector<png_bytep> rows_of(unsigned char* bytes, const PictureShape& shape) {
  std::vector<png_bytep> rows(static_cast<std::size_t>(shape.height));
  for (std::size_t row = 0; row < rows.size(); ++row) {
    rows[row] = bytes + static_cast<std::int64_t>(row) * shape.width * shape.channels;
  }
  return rows;
}

}  // namespace

PictureShape png_shape(const Descriptor& file) {
  const std::string where = png_where(file);
  // Signature, the header chunk's length and name, width, height, bits, kind of colour.
  std::array<unsigned char, 26> head{};
  const std::size_t got = file.read_at(0, head.data(), head.size());
  if (got != head.size() || std::string_view(reinterpret_cast<const char*>(head.data()) + 12, 4) != "IHDR") {
    malformed(where, ": expected a header of 25 bytes behind the signature, found ",
              got < head.size() ? concat("the end of the file after ", got, " bytes") : "another chunk");
  }
  const int bits = head[24];
  const int colour = head[25];
  if (bits > 8) {
    malformed(where, ": expected 8 bits a channel or fewer, found ", bits,
              "; `magick in.png -depth 8 out.png` makes them 8");
  }
  if ((colour & PNG_COLOR_MASK_ALPHA) != 0) {
    malformed(where,
              ": expected grey or RGB, found an alpha channel; `magick in.png -alpha remove out.png` removes it");
  }
  const PictureShape shape{big_endian(&head[20]), big_endian(&head[16]), (colour & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1};
  check_shape(shape, where);
  return shape;
}

Picture read_png(const Descriptor& file) {
  const PictureShape shape = png_shape(file);
  PngIo io{&file};
  io.end = kMostBeside;
  const PngRead reading(io);
  const png_structp png = reading.png;
  const png_infop info = reading.info;
  // A row of the picture may be longer than libpng's own limit of a million pixels; check_shape() has its own.
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  if (!came_through(png, [&] { png_read_info(png, info); })) {
    fail_png(io, png_where(file));
  }
  if (png_get_valid(png, info, PNG_INFO_tRNS) != 0) {
    malformed(png_where(file), ": expected grey or RGB, found a transparent colour; `magick in.png -alpha remove ",
              "out.png` removes it");
  }
  const bool prepared = came_through(png, [&] {
    png_set_palette_to_rgb(png);
    png_set_expand_gray_1_2_4_to_8(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
  });
  if (!prepared || png_get_rowbytes(png, info) != static_cast<std::size_t>(shape.width * shape.channels)) {
    fail_png(io, png_where(file));
  }
  Picture picture{shape, std::vector<unsigned char>(static_cast<std::size_t>(shape.bytes()))};
  std::vector<png_bytep> rows = rows_of(picture.bytes.data(), shape);
  const bool read = came_through(png, [&] {
    io.end = UINT64_MAX;
    png_read_image(png, rows.data());
    io.end = io.offset + kMostBeside;
    png_read_end(png, nullptr);
  });
  if (!read) {
    fail_png(io, png_where(file));
  }
  return picture;
}

std::string png_of(const Picture& picture) {
  const PictureShape& shape = picture.shape;
  check_shape(shape, "a picture to write as PNG");
  require(
      (shape.channels == 1 || shape.channels == 3) && picture.bytes.size() == static_cast<std::size_t>(shape.bytes()),
      "a picture to write as PNG must be grey or RGB, with a byte a channel: found ", [&] { return shape_text(shape); },
      " and ", picture.bytes.size(), " bytes");
  std::string text;
  PngIo io;
  io.text = &text;
  std::vector<unsigned char> bytes = picture.bytes;  // libpng's rows are not const
  std::vector<png_bytep> rows = rows_of(bytes.data(), shape);
  const PngWrite writing(io);
  const png_structp png = writing.png;
  const png_infop info = writing.info;
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  const bool written = came_through(png, [&] {
    png_set_IHDR(png, info, static_cast<png_uint_32>(shape.width), static_cast<png_uint_32>(shape.height), 8,
                 shape.channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    png_write_image(png, rows.data());
    png_write_end(png, info);
  });
  if (!written) {
    fail_png(io, "a picture to write as PNG");
  }
  return text;
}

}  // namespace weft::readers
