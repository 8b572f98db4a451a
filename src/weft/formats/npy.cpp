// SPDX-License-Identifier: Apache-2.0
// The frame of a .npy file, and its header: a Python dict of three fixed keys, of which exactly that much is
// understood.
#include "weft/formats/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/formats/tensor_file.h"

namespace weft::formats {
namespace {

constexpr std::string_view kNpyMagic("\x93NUMPY", 6);

// NumPy writes the byte order of one-byte types as "
// ".
struct Description {
  Dtype dtype;
  std::string_view text;
};

constexpr Description kDescriptions[] = {
    {Dtype::BOOL, "|b1"}, {Dtype::U8, "|u1"},  {Dtype::I8, "|i1"},  {Dtype::I16, "<i2"}, {Dtype::U16, "<u2"},
    {Dtype::F16, "<f2"},  {Dtype::I32, "<i4"}, {Dtype::U32, "<u4"}, {Dtype::F32, "<f4"}, {Dtype::C64, "<c8"},
    {Dtype::F64, "<f8"},  {Dtype::I64, "<i8"}, {Dtype::U64, "<u8"},
};

// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } in any order of the keys.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view where) : rest_(text), where_(where) {}

  void parse(NpyArray& array) {
    // NumPy writes the keys sorted and a comma behind the last; neither is asked for.
    bool seen[3] = {};
    expect('{');
    while (!take('}')) {
      const std::string_view key = string();
      expect(':');
      const int field = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
      if (field < 0 || seen[field]) {
        reject("the header's key ", quote(key), " is unknown or there twice");
      }
      seen[field] = true;
      value(field, array);
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (!seen[0] || !seen[1] || !seen[2] || !rest_.empty()) {
      reject("the header must be a dict of descr, fortran_order and shape");
    }
  }

 private:
  template <typename... Parts>
  [[noreturn]] void reject(const Parts&... parts) const {
    fail(ErrorKind::kFormat, where_, ": ", parts...);
  }

  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size())); }
  bool take(char wanted) {
    skip_blanks();
    const bool found = rest_.starts_with(wanted);
    rest_.remove_prefix(found ? 1 : 0);
    return found;
  }
  void expect(char wanted) {
    if (!take(wanted)) {
      reject("the header is no dict that can be read: expected ", quote({&wanted, 1}), " before ", quote(rest_, 20));
    }
  }

  std::string_view string() {
    const char mark = take('"') ? '"' : '\'';
    if (mark == '\'') {
      expect('\'');
    }
    const std::size_t end = rest_.find(mark);
    if (end == std::string_view::npos) {
      reject("the header has a string without an end");
    }
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }

  void value(int field, NpyArray& array) {
    if (field == 0) {
      array.dtype = dtype(string());
    } else if (field == 2) {
      shape(array.shape);
    } else {
      skip_blanks();
      if (!rest_.starts_with("False")) {
        reject("the array is column-major (fortran_order), which is not read");
      }
      rest_.remove_prefix(5);
    }
  }

  Dtype dtype(std::string_view text) const {
    for (const Description& row : kDescriptions) {
      if (row.text == text) {
        return row.dtype;
      }
    }
    reject("the dtype ", quote(text), " is not read; numbers and booleans in little-endian order are");
  }

  // (), (3,), (3, 4): a tuple of one has a comma.
  void shape(std::vector<std::int64_t>& dimensions) {
    expect('(');
    while (!take(')')) {
      std::int64_t dimension = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), dimension);
      if (error != std::errc() || dimension < 0 || dimensions.size() == kMaximumDimensions) {
        reject("the shape must be at most ", kMaximumDimensions, " integers of at least 0, found ", quote(rest_, 20));
      }
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      dimensions.push_back(dimension);
      if (!take(',')) {
        expect(')');
        break;
      }
    }
  }

  std::string_view rest_;
  std::string_view where_;
};

// Bytes of an array; nothing when they overflow 64 bits.
std::optional<std::uint64_t> array_bytes(Dtype dtype, std::span<const std::int64_t> shape) {
  std::uint64_t size = dtype_size(dtype);
  for (const std::int64_t dimension : shape) {
    if (__builtin_mul_overflow(size, static_cast<std::uint64_t>(dimension), &size)) {
      return std::nullopt;
    }
  }
  return size;
}

std::string npy_header(Dtype dtype, std::span<const std::int64_t> shape) {
  std::string_view description;
  for (const Description& row : kDescriptions) {
    description = row.dtype == dtype ? row.text : description;
  }
  require(!description.empty(), "NumPy has no dtype ", dtype_name(dtype), "; convert to F32 first");
  std::string text = concat("{'descr': '", description, "', 'fortran_order': False, 'shape': (");
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += concat(i > 0 ? " " : "", shape[i], i + 1 < shape.size() || shape.size() == 1 ? "," : "");
  }
  text += "), }";
  constexpr std::size_t kAlignment = 64;  // of the data, as numpy.save has it
  // Magic, two bytes of version, two of length.
  const std::size_t prefix = kNpyMagic.size() + 4;
  text.resize((prefix + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment - prefix, ' ');
  text.back() = '\n';
  return text;
}

}  // namespace

void write_npy(const std::filesystem::path& path, Dtype dtype, std::span<const std::int64_t> shape,
               std::span<const std::byte> data) {
  require(shape.size() <= kMaximumDimensions, "an array of ", shape.size(), " dimensions cannot be written");
  for (const std::int64_t dimension : shape) {
    require(dimension >= 0, "an array cannot have the dimension ", dimension);
  }
  const std::string header = npy_header(dtype, shape);
  const std::optional<std::uint64_t> size = array_bytes(dtype, shape);
  require(size == data.size(), "the array's shape and dtype ask for ", size.value_or(0), " bytes, found ", data.size());
  const auto length = static_cast<std::uint16_t>(header.size());
  AtomicFile file(path);
  file.write(kNpyMagic);
  file.write(std::string_view("\1\0", 2));
  file.write(&length, sizeof(length));
  file.write(header);
  file.write(data.data(), data.size());
  file.commit();
}

NpyArray parse_npy(std::string_view content, std::string_view where) {
  constexpr std::size_t kVersionEnd = 8;
  if (!content.starts_with(kNpyMagic) || content.size() < kVersionEnd) {
    fail(ErrorKind::kFormat, where, ": not a .npy file: it does not begin with \\x93NUMPY and a version");
  }
  const int version = static_cast<unsigned char>(content[6]);
  if (version < 1 || version > 3) {
    fail(ErrorKind::kFormat, where, ": version ", version, " of .npy is unknown; 1 to 3 are read");
  }
  std::uint32_t length = 0;
  // Versions 2 and 3 have a longer length, and version 3 may have UTF-8 in names of fields, which are not read anyway.
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  content.remove_prefix(kVersionEnd);
  std::memcpy(&length, content.data(), std::min(length_bytes, content.size()));
  content.remove_prefix(std::min(length_bytes, content.size()));
  constexpr std::uint32_t kLongestHeader = 1 << 16;
  if (length > content.size() || length > kLongestHeader) {
    fail(ErrorKind::kFormat, where, ": the header's length is ", length, ", but ", content.size(),
         " bytes follow and at most ", kLongestHeader, " are allowed");
  }
  NpyArray array;
  HeaderParser(content.substr(0, length), where).parse(array);
  content.remove_prefix(length);
  const std::optional<std::uint64_t> size = array_bytes(array.dtype, array.shape);
  if (size != content.size()) {
    fail(ErrorKind::kFormat, where, ": shape and dtype ask for ",
         size ? concat(*size, " bytes") : "more than 64 bits can count", ", found ", content.size());
  }
  array.data = content;
  return array;
}

NpyArray read_npy(const std::filesystem::path& path, std::uint64_t maximum_bytes) {
  return parse_npy(read_file(path, maximum_bytes), quote(path.native(), 4096));
}

}  // namespace weft::formats
