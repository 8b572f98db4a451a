// SPDX-License-Identifier: Apache-2.0
// Amounts of memory as people write them: "8G" is 8 GiB, as for systemd and containers.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::cli {

/// The bytes of a number with K, M, G or T behind it (times 1,024 each; "Ki", "KiB", "k" are the same), or without a
/// letter. Errors: UsageError naming `flag` for anything else, for less than a byte and for more than 2^62 bytes.
std::int64_t memory_size(std::string_view flag, std::string_view text);

}  // namespace weft::cli
