// SPDX-License-Identifier: Apache-2.0
// The row that each folder defines; a family that descends from another begins with a copy of its rules:
// `EncoderRules rules = *bert_family().encoder`.
#pragma once

#include "weft/models/families/families.h"

namespace weft::models {

#define WEFT_FAMILY(identifier, name, kind, title) const Family& identifier##_family();
#include "weft/models/families/list.inc"
#undef WEFT_FAMILY

}  // namespace weft::models
