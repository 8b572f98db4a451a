// SPDX-License-Identifier: Apache-2.0
// What requests cost, from what they say and from their model: about how many tokens are computed, and how long the
// answer may be. Answers are rather overestimated: what is admitted must have room.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/server/message.h"

namespace weft::requests {

using Texts = std::span<const server::Text>;

/// Bytes of both texts of all.
std::int64_t bytes_of(Texts texts);

/// `top_k` labels of each text, 0 for all.
server::Cost label_cost(Texts texts, std::span<const std::string> labels, std::int64_t top_k);
/// Entities of each text: as many as a text of very short words has.
server::Cost tag_cost(Texts texts);
/// `top_k` spans of at most `answer_tokens` tokens of each context.
server::Cost answer_cost(Texts texts, std::int64_t top_k, std::int64_t answer_tokens);
/// For each `mask` of each text `candidates` tokens, each with the text of a window of at most `window` tokens.
server::Cost mask_cost(Texts texts, const std::string& mask, std::int64_t candidates, std::int64_t window);
/// A score for each of all `choices`, which are `bytes` together, beside their prompts: `prompt_bytes`, once a choice.
server::Cost choice_cost(std::int64_t choices, std::int64_t bytes, std::int64_t prompt_bytes);
/// A text as long as each, and the places of its sentences.
server::Cost restore_cost(Texts texts);
/// A vector of `width` numbers for each text.
server::Cost embed_cost(Texts texts, std::int64_t width);
/// The same as bytes of float32 in base64.
server::Cost base64_cost(Texts texts, std::int64_t width);
/// A vector of `width` numbers for each token of each text.
server::Cost token_vectors_cost(Texts texts, std::int64_t width);
/// A score for each pair, and with `second` its second text.
server::Cost pair_cost(Texts pairs, bool second);
/// A translation about as long as each text, its sentences among what is computed.
server::Cost translate_cost(Texts texts);
/// `returned` texts of up to `tokens` tokens for each.
server::Cost summarize_cost(Texts texts, std::int64_t returned, std::int64_t tokens);
/// The words and links of each pair.
server::Cost align_cost(Texts texts);
/// `returned` texts of up to `tokens` tokens behind each prompt, which they may begin with.
server::Cost generate_cost(Texts prompts, std::int64_t returned, std::int64_t tokens, bool full_text);
/// Pictures of `heads` heads in all layers, of `cells` cells on each side, with `top` keys a row in `list_bytes` at
/// most.
server::Cost view_cost(const server::Text& text, std::int64_t heads, std::int64_t cells, std::int64_t top,
                       std::int64_t list_bytes);

}  // namespace weft::requests
