// SPDX-License-Identifier: Apache-2.0
// The functions of rust/tokenizers-c as C++ sees them: the same declarations as in its lib.rs and encode.rs.
#pragma once

#include <cstddef>
#include <cstdint>

// NOLINTBEGIN(readability-identifier-naming): names of a C interface
extern "C" {

struct WeftTokenizer;
struct WeftEncoded;

/// Bytes that the other side allocated.
struct WeftText {
  std::uint8_t* data;
  std::size_t length;
  std::size_t capacity;
};

struct WeftRequest {
  const std::uint8_t* first;
  std::size_t first_length;
  const std::uint8_t* second;  ///< null for one text only
  std::size_t second_length;
  std::size_t max_length;  ///< 0 for no truncation
  std::size_t stride;
  std::uint8_t strategy;  ///< as text::Truncation counts
  bool special;
  bool left;      ///< the beginning of a text gives way, not its end
  bool ids_only;  ///< of the first text the ids and nothing else, in one window without special tokens
};

struct WeftSlice {
  const std::uint8_t* data;
  std::size_t length;
};

/// Arrays of `length` elements, but for those that were not asked for; `words` and `sequences` have -1 where there is
/// none.
struct WeftWindow {
  const std::uint32_t* ids;
  const std::uint32_t* types;
  const std::uint32_t* special;
  const std::uint32_t* starts;
  const std::uint32_t* ends;
  const std::int32_t* words;
  const std::int32_t* sequences;
  std::size_t length;
};

WeftTokenizer* weft_tokenizer_load(const std::uint8_t* json, std::size_t length, WeftText* error);
void weft_tokenizer_free(WeftTokenizer* tokenizer);
std::size_t weft_tokenizer_size(const WeftTokenizer* tokenizer);
WeftEncoded* weft_tokenizer_encode(const WeftTokenizer* tokenizer, const WeftRequest* request, WeftText* error);
std::size_t weft_encoded_windows(const WeftEncoded* encoded);
WeftWindow weft_encoded_window(const WeftEncoded* encoded, std::size_t index);
void weft_encoded_free(WeftEncoded* encoded);
bool weft_tokenizer_decode(const WeftTokenizer* tokenizer, const std::uint32_t* ids, std::size_t count,
                           bool skip_special, WeftText* result, WeftText* error);
std::int64_t weft_tokenizer_id(const WeftTokenizer* tokenizer, const std::uint8_t* token, std::size_t length);
bool weft_tokenizer_token(const WeftTokenizer* tokenizer, std::uint32_t id, WeftText* result);
bool weft_tokenizer_join(const WeftTokenizer* tokenizer, const WeftSlice* tokens, std::size_t count, WeftText* result,
                         WeftText* error);
void weft_tokenizer_continuation(const WeftTokenizer* tokenizer, WeftText* result);
bool weft_tokenizer_merges_pairs(const WeftTokenizer* tokenizer);
bool weft_tokenizer_model(const WeftTokenizer* tokenizer, WeftText* result, WeftText* error);
bool weft_tokenizer_is_added(const WeftTokenizer* tokenizer, std::uint32_t id);
void weft_text_free(WeftText text);

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
