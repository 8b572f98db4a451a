// SPDX-License-Identifier: Apache-2.0
// Opening a safetensors file: the frame around the header, and the tensors' bytes.
#include "weft/formats/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::formats {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian and is mapped as it is");
constexpr std::uint64_t kLengthBytes = 8;

// What a file that is text in place of weights (an answer of a server, a note) begins with; nothing for other bytes.
std::string said_by_text(const MappedFile& file) {
  std::string text(std::min<std::size_t>(file.bytes().size(), 40), '\0');
  file.read_at(0, text.data(), text.size());
  const bool is_text =
      std::all_of(text.begin(), text.end(), [](char c) { return (c >= ' ' && c <= '~') || c == '\n'; });
  return is_text ? "; this is no safetensors file but text, which begins " + quote(text) : "";
}

// The header's length in bytes, checked against the file.
std::uint64_t header_length(const MappedFile& file, std::string_view where) {
  const std::uint64_t size = file.bytes().size();
  if (size < kLengthBytes) {
    fail(ErrorKind::kFormat, where, ": not a safetensors file: it has ", size, " bytes, fewer than 8");
  }
  // Held against the limit and the file before a byte is allocated for it.
  std::uint64_t length = 0;
  file.read_at(0, &length, sizeof(length));
  if (length > kMaximumSafetensorsHeader) {
    fail(ErrorKind::kFormat, where, ": the header's length is ", length, ", but at most ", kMaximumSafetensorsHeader,
         " is allowed", said_by_text(file));
  }
  if (length > size - kLengthBytes) {
    fail(ErrorKind::kFormat, where, ": the header's length is ", length, ", but the file ends after ",
         size - kLengthBytes);
  }
  return length;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const FilePlace& file) : file_(file) {
  const std::string where = quote(path().native(), 4096);
  std::string text(header_length(file_, where), '\0');
  file_.read_at(kLengthBytes, text.data(), text.size());
  data_offset_ = kLengthBytes + text.size();
  header_ = parse_safetensors_header(text, file_.bytes().size() - data_offset_, where);
  index_names();
}

std::span<const std::byte> SafetensorsFile::bytes(const TensorInfo& tensor) const {
  file_.check_unchanged();
  return file_.bytes().subspan(data_offset_ + tensor.begin, tensor.end - tensor.begin);
}

void SafetensorsFile::read(const TensorInfo& tensor, void* destination) const {
  file_.read_at(data_offset_ + tensor.begin, destination, tensor.end - tensor.begin);
}

}  // namespace weft::formats
