// SPDX-License-Identifier: Apache-2.0
// Nothing but a division, a logarithm and the units of a text.
#include "weft/metrics/likelihood.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "weft/core/error.h"
#include "weft/text/utf8.h"

namespace weft::metrics {
namespace {

bool is_base(char letter) {
  constexpr std::string_view kBases = "ACGTUNRYSWKMBDHVacgtunryswkmbdhv";
  return kBases.find(letter) != std::string_view::npos;
}

}  // namespace

double perplexity(double nats, std::int64_t tokens) {
  require(tokens >= 1, "perplexity needs at least one token, found ", tokens);
  return std::exp(nats / static_cast<double>(tokens));
}

double bits_per_unit(double nats, std::int64_t units) {
  require(units >= 1, "bits a unit need at least one unit, found ", units);
  return nats / std::numbers::ln2 / static_cast<double>(units);
}

TextUnits count_units(std::string_view text) {
  return {static_cast<std::int64_t>(text.size()), static_cast<std::int64_t>(text::code_point_count(text)),
          static_cast<std::int64_t>(std::count_if(text.begin(), text.end(), is_base))};
}

}  // namespace weft::metrics
