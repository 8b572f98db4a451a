// SPDX-License-Identifier: Apache-2.0
// What processes that train together must have in common is compared before they compute. Each would otherwise train by
// its own settings, and the sum of their gradients would be that of no run.
#pragma once

#include <cstdint>
#include <string>

#include "weft/formats/config_json.h"

namespace weft::training {

/// Returns when every process has the same `terms`, an object of named values. All processes call it in the same place;
/// one that is alone agrees with itself. Errors, in all processes with the same text: kUnsupported that names a process
/// which differs from the first, and up to three of the terms with both values; kIo as ProcessGroup.
void require_agreement(const formats::Json& terms);

/// "process 1 trains with learning_rate 0.01, process 0 with 0.001": up to three of the terms that process `rank` has
/// otherwise than the first, and how many more there are; empty where there is none.
std::string differing_terms(const formats::Json& own, const formats::Json& first, std::int64_t rank);

}  // namespace weft::training
