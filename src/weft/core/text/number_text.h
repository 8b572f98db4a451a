// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them, whatever the locale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

/// 1234567 as "1,234,567".
std::string digits(std::int64_t number);

/// 0.0123 as "1.23%", 50 as "5,000%".
std::string percent(double share);

/// `value` with so many places behind the point.
std::string fixed(double value, int places);

/// 1.295e17 and "FLOP" as "129.5 PFLOP": with the largest unit of a thousand that leaves at least 1.
std::string with_unit(double number, std::string_view unit);

/// 1610612736 as "1.5 GiB", 512 as "512 B".
std::string memory_text(std::int64_t bytes);

/// 0.25 as "250.0 ms", 7,300 as "2.0 h".
std::string duration(double seconds);

/// "1 head", "2 heads".
std::string counted(std::int64_t number, std::string_view noun);

/// A score with four places behind the point, or with two significant digits where these would leave less of it:
/// 0.5123, 0.00032, 4.1e-07.
std::string score_text(double value);

}  // namespace weft
