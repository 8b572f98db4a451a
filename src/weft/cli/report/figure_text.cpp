// SPDX-License-Identifier: Apache-2.0
// Numbers do not depend on the locale.
#include "weft/cli/report/figure_text.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "weft/cli/output.h"
#include "weft/core/joined.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"

namespace weft::cli {
namespace {

using formats::Json;

std::string short_form(const char* form, double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), form, value);
  return text.data();
}

}  // namespace

std::string figure_text(const std::string& name, const Json& value) {
  if (value.is_null()) {
    return "undefined";
  }
  if ((name == "seconds" || name == "time") && value.is_number()) {
    return duration_text(value.get<double>());
  }
  if (value.is_number_integer()) {
    return digits(value.get<std::int64_t>());
  }
  if (!value.is_number()) {
    return setting_text(value);
  }
  const auto number = value.get<double>();
  const double size = std::abs(number);
  return number == 0 || (size >= 1e-3 && size < 1e5) ? fixed(number, 4) : short_form("%.4g", number);
}

std::string setting_text(const Json& value) {
  if (value.is_string()) {
    return value.get_ref<const std::string&>().empty() ? "none" : value.get<std::string>();
  }
  if (value.is_null()) {
    return "-";
  }
  if (value.is_array()) {
    return value.empty() ? "none" : joined(value, ", ", [](const Json& item) { return setting_text(item); });
  }
  return value.is_number_float() ? short_form("%.6g", value.get<double>()) : formats::print_json(value);
}

std::string printable(const std::string& text) {
  const std::string quoted = quote(text, 4 * text.size() + 16);
  // As quoted, but for the quotes and what only they make necessary: \' and \\ are the letters themselves.
  std::string result;
  for (std::size_t i = 1; i + 1 < quoted.size(); ++i) {
    const bool escape = quoted[i] == '\\' && (quoted[i + 1] == '\'' || quoted[i + 1] == '\\');
    i += escape ? 1 : 0;
    result += quoted[i];
  }
  return result;
}

}  // namespace weft::cli
