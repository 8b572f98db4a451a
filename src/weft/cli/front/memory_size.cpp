// SPDX-License-Identifier: Apache-2.0
// Powers of 1,024.
#include "weft/cli/front/memory_size.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

#include "weft/cli/front/failure.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"

namespace weft::cli {
namespace {

constexpr std::string_view kUnits = "KMGT";
constexpr double kStep = 1024;
constexpr double kMost = 0x1p62;

// The power of 1,024 that the letters behind a number stand for: "", "g", "Gi", "GiB".
std::optional<std::size_t> power_of(std::string_view letters) {
  if (letters.empty() || letters == "B") {
    return 0;
  }
  const std::size_t unit = kUnits.find(static_cast<char>(std::toupper(static_cast<unsigned char>(letters.front()))));
  const std::string_view rest = letters.substr(1);
  const bool known = unit != std::string_view::npos && (rest.empty() || rest == "i" || rest == "iB");
  return known ? std::optional(unit + 1) : std::nullopt;
}

}  // namespace

std::int64_t memory_size(std::string_view flag, std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::optional<double> number = real_of(text.substr(0, digits));
  const std::optional<std::size_t> power = power_of(text.substr(digits));
  const double bytes = number && power ? *number * std::pow(kStep, static_cast<double>(*power)) : 0;
  if (!(bytes >= 1 && bytes <= kMost)) {
    throw UsageError(concat(flag, " must be an amount of memory, found ", quote(text)), "for example 512M or 8G");
  }
  return static_cast<std::int64_t>(bytes);
}

}  // namespace weft::cli
