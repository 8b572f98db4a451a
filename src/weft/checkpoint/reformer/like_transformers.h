// SPDX-License-Identifier: Apache-2.0
// A Reformer as transformers 5 computes it, where Weft does what the model was trained with.
#pragma once

#include "weft/checkpoint/open_model.h"
#include "weft/models/language_model.h"

namespace weft::checkpoint {

/// load_model() of a Reformer directory, with the differences that docs/long-texts/reversible.md lists: no bias of the
/// head, and chunks of a decoder's local layers that count twice where a short text closes the circle. Errors: those of
/// load_model(); kArgument for any other model.
models::LanguageModel load_like_transformers(const OpenedModel& directory);

/// The same to continue texts, as `generate` of transformers does with its cache: hashed layers have `decode=cached`
/// (lsh_cache.h). Errors: kUnsupported where local layers see more than one chunk before their own, of which that cache
/// loses tokens.
models::LanguageModel load_cached_like_transformers(const OpenedModel& directory);

}  // namespace weft::checkpoint
