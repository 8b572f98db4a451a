// SPDX-License-Identifier: Apache-2.0
// Bytes to tokens and back.
#include "weft/fine_tuning/open_answers/answer_spans.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "weft/fine_tuning/training_batch.h"

namespace weft::fine_tuning {
namespace {

bool is_white(char letter) { return letter == ' ' || (letter >= '\t' && letter <= '\r'); }

bool is_ascii_word(char letter) {
  return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  const bool joined_before = begin > 0 && is_ascii_word(text[begin - 1]) && is_ascii_word(text[begin]);
  const bool joined_behind = end < text.size() && is_ascii_word(text[end]) && is_ascii_word(text[end - 1]);
  return !joined_before && !joined_behind;
}

// Without the blanks at its ends.
text::Span visible_part(std::string_view text, text::Span bytes) {
  while (bytes.begin < bytes.end && is_white(text[static_cast<std::size_t>(bytes.begin)])) {
    ++bytes.begin;
  }
  while (bytes.end > bytes.begin && is_white(text[static_cast<std::size_t>(bytes.end - 1)])) {
    --bytes.end;
  }
  return bytes;
}

// The best end for each start, where a span of so many words may end.
void look_at_part(std::span<const float> starts, std::span<const float> ends, const RowPart& part, std::size_t number,
                  std::int64_t most_words, std::optional<BestSpan>& best) {
  const auto tokens = part.bytes.size();
  const auto place = [&](std::size_t token) { return static_cast<std::size_t>(part.begin) + token; };
  for (std::size_t first = 0; first < tokens; ++first) {
    for (std::size_t last = first; last < tokens && part.words[last] - part.words[first] < most_words; ++last) {
      const double score = static_cast<double>(starts[place(first)]) + static_cast<double>(ends[place(last)]);
      if (!best || score > best->score) {
        best = {number, visible_part(part.text, {part.bytes[first].begin, part.bytes[last].end}), score};
      }
    }
  }
}

}  // namespace

RowPart row_part(std::string text, const text::Encoding& tokens, std::int64_t begin) {
  RowPart part;
  part.text = std::move(text);
  part.begin = begin;
  part.bytes = tokens.byte_offsets;
  std::int32_t word = 0;
  std::int64_t seen = 0;  // bytes before it belong to tokens that were looked at
  for (const text::Span& bytes : tokens.byte_offsets) {
    const text::Span visible = visible_part(part.text, bytes);
    const std::string_view between = std::string_view(part.text).substr(
        static_cast<std::size_t>(seen), static_cast<std::size_t>(std::max(visible.begin, seen) - seen));
    word += std::any_of(between.begin(), between.end(), is_white) ? 1 : 0;
    seen = std::max(seen, visible.end);
    part.words.push_back(word);
  }
  return part;
}

RowPart shown_part(const text::Encoding& window, const std::string& document) {
  constexpr std::int64_t kSecond = 1;
  const auto first = std::find(window.sequences.begin(), window.sequences.end(), kSecond);
  const auto begin = static_cast<std::size_t>(first - window.sequences.begin());
  const auto count = static_cast<std::size_t>(std::count(first, window.sequences.end(), kSecond));
  if (count == 0) {
    return {};
  }
  const std::int64_t from = window.byte_offsets[begin].begin;
  const std::int64_t to = window.byte_offsets[begin + count - 1].end;
  text::Encoding tokens;
  for (std::size_t token = begin; token < begin + count; ++token) {
    const text::Span bytes = window.byte_offsets[token];
    tokens.byte_offsets.push_back({bytes.begin - from, bytes.end - from});
  }
  RowPart part = row_part(document.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)), tokens,
                          static_cast<std::int64_t>(begin));
  part.from = from;
  return part;
}

RowPart cut_part(const RowPart& part, const TokenSpan& tokens) {
  const auto first = tokens.first - part.begin;
  const auto behind = tokens.last - part.begin + 1;
  RowPart cut;
  cut.text = part.text;
  cut.from = part.from;
  cut.begin = tokens.first;
  cut.bytes = {part.bytes.begin() + first, part.bytes.begin() + behind};
  cut.words = {part.words.begin() + first, part.words.begin() + behind};
  return cut;
}

std::optional<TokenSpan> tokens_at(const RowPart& part, text::Span bytes) {
  std::optional<TokenSpan> found;
  for (std::size_t token = 0; token < part.bytes.size(); ++token) {
    const text::Span shown = visible_part(part.text, part.bytes[token]);
    if (shown.end > bytes.begin && shown.begin < bytes.end) {
      const std::int64_t place = part.begin + static_cast<std::int64_t>(token);
      found = {found ? found->first : place, place};
    }
  }
  return found;
}

std::vector<TokenSpan> spelled_at(const RowPart& part, std::string_view answer) {
  std::vector<TokenSpan> found;
  const std::string_view text = part.text;
  for (std::size_t at = answer.empty() ? std::string_view::npos : text.find(answer); at != std::string_view::npos;
       at = text.find(answer, at + 1)) {
    const auto begin = static_cast<std::int64_t>(at);
    const std::int64_t end = begin + std::ssize(answer);
    if (!stands_alone(text, at, static_cast<std::size_t>(end))) {
      continue;
    }
    if (const auto tokens = tokens_at(part, {begin, end})) {
      found.push_back(*tokens);
    }
  }
  return found;
}

std::optional<BestSpan> best_span(std::span<const float> starts, std::span<const float> ends,
                                  std::span<const RowPart> parts, std::int64_t most_words) {
  std::optional<BestSpan> best;
  for (std::size_t number = 0; number < parts.size(); ++number) {
    look_at_part(starts, ends, parts[number], number, most_words, best);
  }
  return best;
}

at::Tensor any_place_loss(const at::Tensor& logits, const at::Tensor& keep,
                          std::span<const std::vector<std::int64_t>> places) {
  const std::int64_t tokens = logits.size(1);
  std::vector<std::int64_t> rows;
  at::Tensor right = at::zeros(logits.sizes(), at::kBool);
  for (std::size_t row = 0; row < places.size(); ++row) {
    for (const std::int64_t place : places[row]) {
      right.data_ptr<bool>()[static_cast<std::int64_t>(row) * tokens + place] = true;
    }
    if (!places[row].empty()) {
      rows.push_back(static_cast<std::int64_t>(row));
    }
  }
  if (rows.empty()) {
    return logits.sum().to(at::kFloat) * 0.0;  // with a graph
  }
  const at::Tensor chosen = at::tensor(rows, at::kLong);
  // float64 for so few numbers, as in the loss of one place.
  const at::Tensor scores = logits.to(at::kDouble).index_select(0, chosen);
  const at::Tensor all =
      keep.defined() ? scores.masked_fill(keep.index_select(0, chosen).logical_not(), kNever) : scores;
  const at::Tensor some = scores.masked_fill(right.index_select(0, chosen).logical_not(), kNever);
  return (at::logsumexp(all, {1}) - at::logsumexp(some, {1})).mean().to(at::kFloat);
}

}  // namespace weft::fine_tuning
