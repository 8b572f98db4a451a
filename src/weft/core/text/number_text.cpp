// SPDX-License-Identifier: Apache-2.0
// snprintf without a locale that somebody set: the program sets none.
#include "weft/core/text/number_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace weft {

std::string digits(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::size_t first = text.front() == '-' ? 1 : 0;
  for (std::size_t place = text.size(); place > first + 3; place -= 3) {
    text.insert(place - 3, 1, ',');
  }
  return text;
}

std::string percent(double share) {
  constexpr double kMostInThreeDigits = 9.995;
  if (share >= kMostInThreeDigits) {
    return digits(std::llround(share * 100)) + "%";
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g%%", share * 100);
  return text.data();
}

std::string fixed(double value, int places) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", places, value);
  return text.data();
}

std::string with_unit(double number, std::string_view unit) {
  constexpr std::array<std::string_view, 9> kPrefixes = {"", "k", "M", "G", "T", "P", "E", "Z", "Y"};
  std::size_t prefix = 0;
  // 999.95 would be printed as 1000.0.
  for (; std::abs(number) >= 999.95 && prefix + 1 < kPrefixes.size(); ++prefix) {
    number /= 1000;
  }
  return fixed(number, prefix == 0 ? 0 : 1) + " " + std::string(kPrefixes[prefix]) + std::string(unit);
}

std::string memory_text(std::int64_t bytes) {
  constexpr std::string_view kPowers = "KMGT";
  constexpr double kStep = 1024;
  auto number = static_cast<double>(bytes);
  std::size_t power = 0;
  for (; number >= kStep - 0.05 && power < kPowers.size(); ++power) {
    number /= kStep;
  }
  return power == 0 ? std::to_string(bytes) + " B" : fixed(number, 1) + " " + kPowers[power - 1] + "iB";
}

std::string duration(double seconds) {
  struct Unit {
    double seconds;
    std::string_view name;
  };
  constexpr std::array<Unit, 6> kUnits = {
      {{86400, "days"}, {3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}, {1e-6, "us"}}};
  const auto unit =
      std::find_if(kUnits.begin(), kUnits.end() - 1, [&](const Unit& each) { return seconds >= each.seconds; });
  return fixed(seconds / unit->seconds, 1) + " " + std::string(unit->name);
}

std::string counted(std::int64_t number, std::string_view noun) {
  return digits(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

std::string score_text(double value) {
  constexpr double kSmallest = 0.00095;  // two digits are left of what is larger: 0.0010
  if (value == 0 || std::abs(value) >= kSmallest) {
    return fixed(value, 4);
  }
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.2g", value);
  return text.data();
}

}  // namespace weft
