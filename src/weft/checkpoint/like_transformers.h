// SPDX-License-Identifier: Apache-2.0
// A model as `transformers` 5 computes it, where Weft does what the model was trained with: the differences are those
// that its family says (models/families/causal_rules.h).
#pragma once

#include "weft/checkpoint/open_model.h"
#include "weft/models/families/causal_rules.h"
#include "weft/models/language_model.h"

namespace weft::checkpoint {

/// What differs where the model scores a text. Errors: those of load_config(); kArgument for a model whose family has
/// no such differences.
models::LikeTransformers like_transformers(const OpenedModel& directory);

/// load_model() with these differences. Errors: those of load_model() and like_transformers().
models::LanguageModel load_like_transformers(const OpenedModel& directory);

/// The same to continue texts, with weights of `dtype`, as `generate` of transformers does with its cache. Errors:
/// kUnsupported where that cache loses tokens, and for encoders.
models::LanguageModel load_cached_like_transformers(const OpenedModel& directory, at::ScalarType dtype = at::kFloat);

}  // namespace weft::checkpoint
