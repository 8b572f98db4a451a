// SPDX-License-Identifier: Apache-2.0
// The fields that NomicBERT has beyond those of every encoder.
#pragma once

#include "weft/core/fields.h"

namespace weft::models {

struct NomicBertFields {
  double rope_theta = 1000.0;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    visit(Field{"rope_theta", &NomicBertFields::rope_theta, "base of the rotary positions"}.range(1.0, 1e12));
  }
};

}  // namespace weft::models
