// SPDX-License-Identifier: Apache-2.0
// The row that each folder defines; a family that descends from another begins with a copy of its rules:
// `EncoderRules rules = *bert_family().encoder`.
#pragma once

#include "weft/models/families/families.h"

namespace weft::models {

#define WEFT_FAMILY(identifier, name, kind) WEFT_ROW_##kind(identifier)
#define WEFT_ROW_kEncoder(identifier) const Family& identifier##_family();
#define WEFT_ROW_kPair(identifier)
#define WEFT_ROW_kCausal(identifier)
#include "weft/models/families/list.inc"
#undef WEFT_ROW_kCausal
#undef WEFT_ROW_kPair
#undef WEFT_ROW_kEncoder
#undef WEFT_FAMILY

const Family& reformer_family();

}  // namespace weft::models
