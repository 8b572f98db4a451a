// SPDX-License-Identifier: Apache-2.0
// Marks come from the vocabulary, so that any encoder can learn these tasks.
#include "weft/fine_tuning/open_answers/row_writer.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/text/pair_places.h"

namespace weft::fine_tuning {
namespace {

using text::SpecialRole;

RowMark mark_of_role(const tasks::TaskModel& model, SpecialRole first, SpecialRole second, const char* what) {
  for (const SpecialRole role : {first, second}) {
    if (const auto id = model.tokenizer->special(role)) {
      return {*id, model.tokenizer->token(*id), true};
    }
  }
  fail(ErrorKind::kArgument, model.name, ": the tokeniser needs a token that ", what,
       ", and names none (tokenizer_config.json: cls_token, sep_token, bos_token or eos_token)");
}

}  // namespace

text::Encoding plain_tokens(const text::HuggingFaceTokenizer& tokenizer, std::string_view text) {
  std::vector<text::Encoding> windows = tokenizer.encode_windows(text, {.special_tokens = false});
  return windows.empty() ? text::Encoding() : std::move(windows.front());
}

RowMark begin_mark(const tasks::TaskModel& model) {
  return mark_of_role(model, SpecialRole::kClass, SpecialRole::kBegin, "begins a text");
}

RowMark separator_mark(const tasks::TaskModel& model) {
  return mark_of_role(model, SpecialRole::kSeparator, SpecialRole::kEnd, "ends a text");
}

RowMark own_mark(const tasks::TaskModel& model, std::string_view name) {
  if (const auto id = model.tokenizer->find(name)) {
    return {*id, std::string(name), true};
  }
  if (const auto id = model.tokenizer->special(SpecialRole::kMask)) {
    return {*id, model.tokenizer->token(*id), false};
  }
  RowMark separator = separator_mark(model);
  separator.named = false;
  return separator;
}

std::vector<std::int64_t> question_tokens(const text::Encoding& window) {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(std::max<std::int64_t>(text::pair_places(window).end, 0)));
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

std::int64_t RowWriter::add(const RowMark& mark, bool global) {
  const std::int64_t place = size();
  if (global) {
    globals_.push_back(place);
  }
  window_.ids.push_back(mark.id);
  window_.type_ids.push_back(sequence_);
  window_.special_mask.push_back(1);
  window_.offsets.emplace_back();
  window_.byte_offsets.emplace_back();
  window_.words.push_back(-1);
  window_.sequences.push_back(-1);
  return place;
}

void RowWriter::add(const text::Encoding& tokens, std::size_t begin, std::size_t end, bool global) {
  for (std::size_t token = begin; token < end; ++token) {
    if (global) {
      globals_.push_back(size());
    }
    window_.ids.push_back(tokens.ids[token]);
    window_.type_ids.push_back(sequence_);
    window_.special_mask.push_back(0);
    window_.offsets.push_back(tokens.offsets[token]);
    window_.byte_offsets.push_back(tokens.byte_offsets[token]);
    window_.words.push_back(tokens.words[token]);
    window_.sequences.push_back(sequence_);
  }
}

text::Encoding RowWriter::window(std::int64_t types) const {
  text::Encoding window = window_;
  if (types < 2) {
    window.type_ids.assign(window.ids.size(), 0);
  }
  return window;
}

HeadChoice token_numbers(const Setup& setup, const std::vector<std::string>& labels) {
  const bool has_head = setup.config.head() == models::Head::kTokenClassification && setup.config.id2label == labels;
  const bool measured = setup.task.train_data.empty();
  require(
      has_head || !measured, setup.model.name, ": ", setup.task.task, " needs a head whose labels are ",
      [&] { return concat(quoted_list(labels, labels.size()), ", found ", quoted_list(setup.config.id2label, 5)); },
      "; train one from this model");
  return {labels, {}, !has_head};
}

void refuse_label_settings(const Setup& setup) {
  require(setup.task.class_weights.empty() && setup.label_smoothing == 0.0,
          "class_weights and label_smoothing are for tasks with labels; ", setup.task.task, " has none");
}

}  // namespace weft::fine_tuning
