// SPDX-License-Identifier: Apache-2.0
// Bytes of answers were measured on short and on odd texts: names of members, numbers in full, quotes and commas.
#include "weft/requests/request_cost.h"

#include <algorithm>
#include <limits>

namespace weft::requests {
namespace {

constexpr std::int64_t kEntry = 64;           // {"label": ..., "score": 0.12345678901234567}
constexpr std::int64_t kSpan = 192;           // of an answer: its places in letters and in bytes, two scores
constexpr std::int64_t kNumber = 24;          // of a vector
constexpr std::int64_t kTokenText = 8;        // bytes of a token
constexpr std::int64_t kEntitiesOfByte = 24;  // bytes of entities for a byte of text
constexpr std::int64_t kSentencesOfByte = 16;
constexpr std::int64_t kLinksOfByte = 48;
constexpr std::int64_t kPass = 4;    // a token that is written costs as much as so many that are read, in a batch
constexpr std::int64_t kAlone = 64;  // and in a text by itself

constexpr std::int64_t kLargestCost = std::numeric_limits<std::int64_t>::max() / 4;

// Products of what clients say: what is too large stays large.
std::int64_t times(std::int64_t left, std::int64_t right) {
  return left > 0 && right > kLargestCost / left ? kLargestCost : left * right;
}

std::int64_t texts_of(Texts texts) { return static_cast<std::int64_t>(texts.size()); }

std::int64_t size_of(const std::string& text) { return static_cast<std::int64_t>(text.size()); }

std::int64_t times_in(const std::string& text, const std::string& part) {
  std::int64_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

}  // namespace

std::int64_t bytes_of(Texts texts) {
  std::int64_t bytes = 0;
  for (const server::Text& text : texts) {
    bytes += size_of(text.first) + (text.second ? size_of(*text.second) : 0);
  }
  return bytes;
}

server::Cost label_cost(Texts texts, std::span<const std::string> labels, std::int64_t top_k) {
  std::int64_t all = 0;
  std::int64_t longest = 0;
  for (const std::string& label : labels) {
    all += size_of(label) + kEntry;
    longest = std::max(longest, size_of(label) + kEntry);
  }
  const std::int64_t of_text = top_k > 0 ? std::min(all, times(top_k, longest)) : all;
  return {.tokens = bytes_of(texts), .answer_bytes = times(texts_of(texts), of_text)};
}

server::Cost tag_cost(Texts texts) {
  return {.tokens = bytes_of(texts), .answer_bytes = times(kEntitiesOfByte, bytes_of(texts))};
}

server::Cost answer_cost(Texts texts, std::int64_t top_k, std::int64_t answer_tokens) {
  server::Cost cost{.tokens = bytes_of(texts)};
  for (const server::Text& text : texts) {
    const std::int64_t context = text.second ? size_of(*text.second) : 0;
    cost.answer_bytes += times(top_k, kSpan + std::min(context, times(answer_tokens, kTokenText)));
  }
  return cost;
}

server::Cost mask_cost(Texts texts, const std::string& mask, std::int64_t candidates, std::int64_t window) {
  server::Cost cost{.tokens = bytes_of(texts)};
  for (const server::Text& text : texts) {
    const std::string second = text.second.value_or("");
    const std::int64_t masks = mask.empty() ? 1 : times_in(text.first, mask) + times_in(second, mask);
    const std::int64_t sequence = std::min(size_of(text.first) + size_of(second), times(window, kTokenText));
    cost.answer_bytes += times(times(masks, candidates), 2 * kEntry + sequence);
  }
  return cost;
}

server::Cost choice_cost(std::int64_t choices, std::int64_t bytes, std::int64_t prompt_bytes) {
  return {.tokens = bytes + prompt_bytes, .answer_bytes = times(choices, kEntry) + bytes};
}

server::Cost restore_cost(Texts texts) {
  return {.tokens = bytes_of(texts), .answer_bytes = times(kSentencesOfByte, bytes_of(texts))};
}

server::Cost embed_cost(Texts texts, std::int64_t width) {
  return {.tokens = bytes_of(texts), .answer_bytes = times(texts_of(texts), times(width, kNumber))};
}

server::Cost base64_cost(Texts texts, std::int64_t width) {
  constexpr std::int64_t kPacked = 6;  // of a number: 4 bytes, as 16 letters for 12 of them
  return {.tokens = bytes_of(texts), .answer_bytes = times(texts_of(texts), kEntry + times(width, kPacked))};
}

server::Cost token_vectors_cost(Texts texts, std::int64_t width) {
  constexpr std::int64_t kAround = 4;  // special tokens beside those of a text
  const std::int64_t tokens = bytes_of(texts) + times(texts_of(texts), kAround);
  return {.tokens = bytes_of(texts), .answer_bytes = times(tokens, times(width, kNumber))};
}

server::Cost pair_cost(Texts pairs, bool second) {
  constexpr std::int64_t kEscaped = 6;  // bytes of a letter that JSON writes as \u0001
  std::int64_t texts = 0;
  for (const server::Text& pair : pairs) {
    texts += second && pair.second ? size_of(*pair.second) : 0;
  }
  return {.tokens = bytes_of(pairs), .answer_bytes = times(texts_of(pairs), kEntry) + times(texts, kEscaped)};
}

server::Cost translate_cost(Texts texts) {
  const std::int64_t bytes = bytes_of(texts);
  const std::int64_t written = bytes / kTokenText + kTokenText * texts_of(texts);
  return {.tokens = bytes + kPass * written, .answer_bytes = times(kSentencesOfByte, bytes)};
}

server::Cost summarize_cost(Texts texts, std::int64_t returned, std::int64_t tokens) {
  const std::int64_t written = times(texts_of(texts), tokens);
  return {.tokens = bytes_of(texts) + times(kPass, written),
          .answer_bytes = times(times(returned, written), kTokenText)};
}

server::Cost align_cost(Texts texts) {
  return {.tokens = bytes_of(texts), .answer_bytes = times(kLinksOfByte, bytes_of(texts))};
}

server::Cost generate_cost(Texts prompts, std::int64_t returned, std::int64_t tokens, bool full_text) {
  const std::int64_t prompt = full_text ? bytes_of(prompts) : 0;
  return {.tokens = bytes_of(prompts) + times(kAlone, times(texts_of(prompts), tokens)),
          .answer_bytes = times(returned, times(texts_of(prompts), kEntry + times(tokens, kTokenText)) + prompt)};
}

server::Cost view_cost(const server::Text& text, std::int64_t heads, std::int64_t cells, std::int64_t top,
                       std::int64_t list_bytes) {
  constexpr std::int64_t kCell = 3;   // two numbers in packed text
  constexpr std::int64_t kKey = 12;   // of a list: its place and its weight
  constexpr std::int64_t kHeads = 8;  // whose pictures cost as much as to compute the text
  const std::int64_t tokens = bytes_of({&text, 1});
  const std::int64_t side = std::min(cells, tokens + 2);
  return {.tokens = tokens + times(tokens, heads) / kHeads,
          .answer_bytes = times(heads, kCell * side * side) +
                          std::min(list_bytes, times(times(tokens, heads), times(top, kKey))) +
                          times(tokens, kTokenText)};
}

}  // namespace weft::requests
