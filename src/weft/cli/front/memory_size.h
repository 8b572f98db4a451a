// SPDX-License-Identifier: Apache-2.0
// Amounts of memory as people write and read them: "8G" is 8 GiB, as for systemd and containers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::cli {

/// 1610612736 as "1.5 GiB", 512 as "512 B".
std::string memory_text(std::int64_t bytes);

/// The bytes of a number with K, M, G or T behind it (times 1,024 each; "Ki", "KiB", "k" are the same), or without a
/// letter. Errors: UsageError naming `flag` for anything else, for less than a byte and for more than 2^62 bytes.
std::int64_t memory_size(std::string_view flag, std::string_view text);

}  // namespace weft::cli
