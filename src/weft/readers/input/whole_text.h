// SPDX-License-Identifier: Apache-2.0
// A document that is read whole: a file, a pipe or standard input, plain or gzip.
#pragma once

#include <cstdint>
#include <string>

#include "weft/readers/byte_source.h"
#include "weft/readers/reader.h"

namespace weft::readers {

/// All bytes of a source. Errors: as ByteSource; kFormat when there are more than `maximum_bytes`.
std::string read_whole_text(ByteSource source, std::uint64_t maximum_bytes = ReadOptions().max_record_bytes);

}  // namespace weft::readers
