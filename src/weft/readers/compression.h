// SPDX-License-Identifier: Apache-2.0
// Compressed files are told by their first bytes, whatever their name: gzip is read, the others are refused with the
// command that decompresses them.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace weft::readers {

/// A way of compressing files.
struct Compression {
  std::string_view name;     ///< "gzip"
  std::string_view magic;    ///< the first bytes of such a file
  std::string_view command;  ///< what decompresses a file whose name follows; empty for gzip
};

/// The compression of a file that begins with `head`; nothing for any other file.
std::optional<Compression> compression_of(std::string_view head);

/// Whether `head` is too short to know: more bytes could make it the beginning of a compressed file.
bool may_become_compressed(std::string_view head);

}  // namespace weft::readers
