// SPDX-License-Identifier: Apache-2.0
// A vector in a byte a number, and how far that is from the vector at most: what a scan needs to leave out nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::store {

/// x = scale * numbers + e, where the length of e is `error`. A number is -127 to 127.
struct VectorCode {
  std::vector<std::int8_t> numbers;
  double scale = 0.0;
  double error = 0.0;
};

/// The code of a vector of finite numbers. Errors: kNumeric for others.
VectorCode code_of(std::span<const float> vector);

/// The same of a question, in two bytes a number, so small that no sum of products with a code leaves 32 bits.
struct QuestionCode {
  std::vector<std::int16_t> numbers;
  double scale = 0.0;
  double error = 0.0;
  double length = 0.0;  ///< of the vector itself
};
QuestionCode question_code(std::span<const float> vector);

/// products[i] is the dot product of row i of `codes`, [rows, width], and of `question`, [width].
void code_products(const std::int8_t* codes, const std::int16_t* question, std::int64_t rows, std::int64_t width,
                   std::int32_t* products) noexcept;

/// The dot product in float64.
double exact_product(std::span<const float> a, std::span<const float> b) noexcept;

}  // namespace weft::store
