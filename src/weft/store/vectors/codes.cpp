// SPDX-License-Identifier: Apache-2.0
// Scales from the greatest number of a vector; what rounding leaves is measured, not estimated.
#include "weft/store/vectors/codes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/core/error.h"

namespace weft::store {
namespace {

constexpr double kMostOfByte = 127.0;

// Rounds `vector` to whole numbers of `scale` and returns the length of what is left.
template <typename Number>
double round_to(std::span<const float> vector, double scale, std::vector<Number>& numbers) {
  numbers.reserve(vector.size());
  double squares = 0.0;
  for (const float value : vector) {
    const double whole = scale > 0.0 ? std::nearbyint(static_cast<double>(value) / scale) : 0.0;
    const double rest = static_cast<double>(value) - whole * scale;
    squares += rest * rest;
    numbers.push_back(static_cast<Number>(whole));
  }
  return std::sqrt(squares);
}

double greatest(std::span<const float> vector) {
  double most = 0.0;
  for (const float value : vector) {
    if (!std::isfinite(value)) {
      fail(ErrorKind::kNumeric, "a vector has a number that is not finite");
    }
    most = std::max(most, std::fabs(static_cast<double>(value)));
  }
  return most;
}

}  // namespace

VectorCode code_of(std::span<const float> vector) {
  VectorCode code{.numbers = {}, .scale = greatest(vector) / kMostOfByte};
  code.error = round_to(vector, code.scale, code.numbers);
  return code;
}

QuestionCode question_code(std::span<const float> vector) {
  // The sum of |numbers| times the 128 that a byte of a file may hold must fit; each may be rounded up by a half.
  constexpr double kMostOfWord = 32767.0;
  constexpr double kMostOfFile = 128.0;
  const double room = std::numeric_limits<std::int32_t>::max() / kMostOfFile - static_cast<double>(vector.size());
  require(room > 0.0, "a vector has too many numbers: ", vector.size());
  double sum = 0.0;
  for (const float value : vector) {
    sum += std::fabs(static_cast<double>(value));
  }
  QuestionCode code{.numbers = {}, .scale = std::max(greatest(vector) / kMostOfWord, sum / room)};
  code.error = round_to(vector, code.scale, code.numbers);
  code.length = std::sqrt(exact_product(vector, vector));
  return code;
}

double exact_product(std::span<const float> a, std::span<const float> b) noexcept {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  return sum;
}

}  // namespace weft::store
