// SPDX-License-Identifier: Apache-2.0
// A Reformer as transformers 5 computes it, where Weft does what the model was trained with.
#pragma once

#include <string>

#include "weft/models/families/causal_rules.h"

namespace weft::models {

/// The differences that docs/long-texts/reversible.md lists: no bias of the head, and chunks of a decoder's local
/// layers that count twice where a short text closes the circle.
LikeTransformers reformer_scores_like_transformers(const TransformerConfig& config, const std::string& where);

/// The same to continue texts, as `generate` of transformers does with its cache: hashed layers have `decode=cached`
/// (lsh_cache.h). Errors: kUnsupported naming `where` where local layers see more than one chunk before their own, of
/// which that cache loses tokens.
LikeTransformers reformer_continues_like_transformers(const TransformerConfig& config, const std::string& where);

}  // namespace weft::models
