// SPDX-License-Identifier: Apache-2.0
// The function of rust/tokenizers-c/src/answer.rs as C++ sees it.
#pragma once

#include "weft/text/hugging_face/tokenizers_c.h"

// NOLINTBEGIN(readability-identifier-naming): names of a C interface
extern "C" {

bool weft_normalize_answer(const std::uint8_t* text, std::size_t length, WeftText* result, WeftText* error);

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
