// SPDX-License-Identifier: Apache-2.0
// The curve and its inverse.
#include "weft/readers/media/mu_law.h"

#include <algorithm>
#include <cmath>

namespace weft::readers {
namespace {

constexpr double kMu = 255.0;

}  // namespace

unsigned char mu_law(double sample) {
  const double x = std::clamp(sample, -1.0, 1.0);
  const double curve = std::copysign(std::log1p(kMu * std::abs(x)) / std::log1p(kMu), x);
  return static_cast<unsigned char>(std::floor((curve + 1.0) / 2.0 * kMu + 0.5));
}

double mu_law_sample(unsigned char byte) {
  const double curve = 2.0 * byte / kMu - 1.0;
  return std::copysign(std::expm1(std::abs(curve) * std::log1p(kMu)) / kMu, curve);
}

}  // namespace weft::readers
