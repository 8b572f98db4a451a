// SPDX-License-Identifier: Apache-2.0
// The directory of a ZIP file whose members are stored, not compressed, as LibTorch writes them: name to place in the
// file. Nothing is ever inflated, so that no archive can grow beyond its own size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "weft/core/files.h"

namespace weft::formats {

struct ZipMember {
  std::uint64_t offset = 0;  ///< of its data in the file
  std::uint64_t size = 0;
  std::uint32_t checksum = 0;  ///< CRC-32 of its data; 0 where the writer left it out, as torch.save can be told to
};

/// Name to place. Errors: kFormat for what is no ZIP file, compressed, encrypted or split archives, members that repeat
/// a name, overlap or reach beyond the file; kIo.
std::unordered_map<std::string, ZipMember> read_zip_directory(const MappedFile& file, std::string_view where);

/// Reads the member's data and holds it to its checksum, where it has one. Errors: kFormat naming `where`, the member
/// and both checksums; kIo.
void check_member(const MappedFile& file, const ZipMember& member, std::string_view name, std::string_view where);

/// Whether the file begins as a ZIP file does.
bool looks_like_zip(const MappedFile& file);

}  // namespace weft::formats
