// SPDX-License-Identifier: Apache-2.0
// The scores of a step: what the decoder gives for each row, through the processors.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/generation/processors/processor.h"
#include "weft/generation/search/search.h"

namespace weft::generation {

/// A search in progress: what all its steps share.
struct SearchPlan {
  Decoder& decoder;
  const SearchRequest& request;
  const GenerationConfig& config;
  Lengths lengths;  ///< those of the longest text
  Ids longest;      ///< tokens with which the text of each prompt ends at the latest

  /// Ids of the source of a prompt, which are those of the prompt where there is none.
  std::span<const std::int64_t> source(std::int64_t item) const;
  /// What names the draws of a prompt: see SearchRequest::numbers.
  std::int64_t number(std::int64_t item) const;
  bool is_end(std::int64_t id) const;
  std::int64_t longest_of(std::int64_t item) const { return longest[static_cast<std::size_t>(item)]; }
};

/// Beams and rows of `SearchPlan` until no text is left; one for each way to search.
std::vector<std::vector<Sequence>> search_rows(const SearchPlan& plan);
std::vector<std::vector<Sequence>> search_beams(const SearchPlan& plan);

/// Float32 [B, V] on the CPU, that may be written to. Nobody has looked at them: see check_scores().
at::Tensor step_scores(const SearchPlan& plan, const at::Tensor& tokens, layers::DecodingState& state);

/// Of a row of them, before anything else is done with it: a row is worked on from here to its candidates while it is
/// in the cache, because a table of 58,101 ids and 128 beams is 30 MB. Errors: kNumeric, naming the token, for NaN or
/// infinity that remove_invalid_values does not allow.
void check_scores(const SearchPlan& plan, std::span<const float> scores);

/// Row b of scores [B, V].
std::span<float> row_of(const at::Tensor& scores, std::int64_t row);

/// Calls work(row) for each of `rows`, some at once where a row is work enough: a pass over `width` numbers.
void for_each_row(std::int64_t rows, std::int64_t width, const std::function<void(std::int64_t row)>& work);

/// int64 [rows, length] of texts of equal length.
at::Tensor table_of(const std::vector<Ids>& texts);
/// int64 [n].
at::Tensor list_of(const Ids& ids);

}  // namespace weft::generation
