// SPDX-License-Identifier: Apache-2.0
// Rows of a question and many documents, put together of marks and texts, whose question sees everything and is seen by
// everything (Beltagy et al. 2020, section 5; Zaheer et al. 2020, appendix E).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/fine_tuning/objective.h"
#include "weft/text/encoding.h"

namespace weft::fine_tuning {

/// The tokens of a text without special ones, in one window. Errors: as encode_windows().
text::Encoding plain_tokens(const text::HuggingFaceTokenizer& tokenizer, std::string_view text);

/// A token that stands for no text.
struct RowMark {
  std::int64_t id = 0;
  std::string name;    ///< as the vocabulary writes it
  bool named = false;  ///< the vocabulary has it under the name that the layout gives it
};

/// What stands before a row, and between and behind its texts. Errors: kArgument naming the model for a tokeniser
/// without such a token.
RowMark begin_mark(const tasks::TaskModel& model);
RowMark separator_mark(const tasks::TaskModel& model);
/// The token `name` of the vocabulary; else the mask, or without one the separator. Errors: as separator_mark().
RowMark own_mark(const tasks::TaskModel& model, std::string_view name);

/// The places of the first text of a pair and of what stands before it; none of a window of one text.
std::vector<std::int64_t> question_tokens(const text::Encoding& window);

/// A row on its way; a copy of one goes on from there.
class RowWriter {
 public:
  /// Tokens from here on have the type 1, where the model knows two.
  void begin_documents() noexcept { sequence_ = 1; }
  /// Appends a mark and returns its place.
  std::int64_t add(const RowMark& mark, bool global);
  /// Appends the tokens `begin` to `end` of a text.
  void add(const text::Encoding& tokens, std::size_t begin, std::size_t end, bool global);
  void add(const text::Encoding& tokens, bool global) { add(tokens, 0, tokens.ids.size(), global); }

  std::int64_t size() const noexcept { return std::ssize(window_.ids); }
  /// The row for a model with so many token types. Offsets are those in the texts that were added.
  text::Encoding window(std::int64_t types) const;
  const std::vector<std::int64_t>& globals() const noexcept { return globals_; }

 private:
  text::Encoding window_;
  std::vector<std::int64_t> globals_;
  std::int64_t sequence_ = 0;
};

/// The head that gives every token a number for each of `labels`: the model's own where these are its labels, else a
/// fresh one. Errors: kArgument where a finished model is measured and has another head.
HeadChoice token_numbers(const Setup& setup, const std::vector<std::string>& labels);

/// What tasks with such heads do not have. Errors: kArgument for class weights and label smoothing.
void refuse_label_settings(const Setup& setup);

}  // namespace weft::fine_tuning
