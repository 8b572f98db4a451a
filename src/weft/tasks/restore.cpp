// SPDX-License-Identifier: Apache-2.0
// The model reads the words alone, joined by blanks, as it did while it learned; a word has the label of its first
// token.
#include "weft/tasks/restore.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/utf8_sequence.h"
#include "weft/tasks/decode/tagged_tokens.h"
#include "weft/text/bare_words.h"
#include "weft/text/sentences/sentences.h"
#include "weft/text/utf8.h"

namespace weft::tasks {
namespace {

using text::BareWord;

// A document's words as the model reads them.
struct BareText {
  std::vector<BareWord> words;
  std::string joined;
  std::vector<std::size_t> ends;        // of each word in `joined`
  std::vector<std::size_t> read_at;     // where the token begins that its label comes from; joined.size(): none yet
  std::vector<WordLabels> labels = {};  // of each word
};

// As in the texts that models learn from: a curly apostrophe is a straight one.
std::string with_plain_apostrophes(const std::string& word) {
  constexpr std::string_view kCurly = "\xE2\x80\x99";
  std::string result;
  for (std::size_t place = 0; place < word.size();) {
    const bool curly = std::string_view(word).substr(place).starts_with(kCurly);
    result += curly ? '\'' : word[place];
    place += curly ? kCurly.size() : 1;
  }
  return result;
}

BareText bare_text(std::string_view document) {
  BareText bare{text::bare_words(document), {}, {}, {}};
  for (const BareWord& word : bare.words) {
    bare.joined += (bare.joined.empty() ? "" : " ") + with_plain_apostrophes(word.lower);
    bare.ends.push_back(bare.joined.size());
  }
  bare.read_at.assign(bare.words.size(), bare.joined.size());
  bare.labels.resize(bare.words.size());
  return bare;
}

void take_labels(BareText& bare, std::span<const TaggedToken> tokens, std::span<const WordForm> forms) {
  for (const TaggedToken& token : tokens) {
    const auto begin = static_cast<std::size_t>(token.byte_offsets.begin);
    // Some vocabularies count the blank before a word as its token's.
    const auto found = std::upper_bound(bare.ends.begin(), bare.ends.end(), begin);
    const auto word = static_cast<std::size_t>(found - bare.ends.begin());
    if (word < bare.words.size() && begin < bare.read_at[word]) {
      bare.read_at[word] = begin;
      bare.labels[word] = WordLabels(token.scores, forms);
      bare.labels[word].has_case = bare.words[word].lower != bare.words[word].title;
    }
  }
}

// What lies between two words, or behind the last: without its marks where those are the model's.
std::string gap_without_marks(std::string_view gap) {
  constexpr std::string_view kEllipsis = "\xE2\x80\xA6";
  std::string result;
  for (std::size_t place = 0; place < gap.size();) {
    if (gap.substr(place).starts_with(kEllipsis)) {
      place += kEllipsis.size();
    } else {
      if (kWordMarks.find(gap[place]) == std::string_view::npos) {
        result += gap[place];
      }
      ++place;
    }
  }
  return result;
}

// Whether white space of any language is in it.
bool has_blank(std::string_view gap) {
  for (; !gap.empty(); gap.remove_prefix(std::max<std::size_t>(1, utf8_sequence_length(gap)))) {
    if (text::strip_left(gap).size() < gap.size()) {
      return true;
    }
  }
  return false;
}

const std::string& in_case(const BareWord& word, WordForm::Case letters) {
  switch (letters) {
    case WordForm::Case::kTitle:
      return word.title;
    case WordForm::Case::kUpper:
      return word.upper;
    case WordForm::Case::kLower:
      break;
  }
  return word.lower;
}

std::string restored_text(std::string_view document, const BareText& bare, std::span<const WordForm> forms) {
  const std::vector<std::size_t> labels = agreeing_labels(bare.labels);
  std::string result(document.substr(0, bare.words.empty() ? document.size() : bare.words.front().begin));
  for (std::size_t i = 0; i < bare.words.size(); ++i) {
    const BareWord& word = bare.words[i];
    const bool is_last = i + 1 == bare.words.size();
    const std::size_t next = is_last ? document.size() : bare.words[i + 1].begin;
    const std::string_view gap = document.substr(word.end, next - word.end);
    const WordForm form = forms[labels[i]];
    result += in_case(word, form.letters);
    if (!is_last && !has_blank(gap)) {
      result += gap;
      continue;
    }
    if (form.mark != 0) {
      result += form.mark;
    }
    result += gap_without_marks(gap);
  }
  return result;
}

formats::Json result_of(const std::string& restored) {
  formats::Json sentences = formats::Json::array();
  std::size_t bytes = 0;
  std::size_t letters = 0;
  // Places are in order, so that letters are counted once.
  const auto letters_until = [&](std::size_t byte) {
    letters += text::code_point_count(std::string_view(restored).substr(bytes, byte - bytes));
    bytes = byte;
    return letters;
  };
  for (const text::SentencePlace& place : text::find_sentences(restored)) {
    const std::size_t start = letters_until(place.begin);
    sentences.push_back(
        {{"start", start}, {"end", letters_until(place.end)}, {"byte_start", place.begin}, {"byte_end", place.end}});
  }
  return {{"text", restored}, {"sentences", std::move(sentences)}};
}

std::vector<WordForm> forms_of(const TaskModel& task) {
  std::vector<WordForm> forms;
  for (const std::string& label : task.model->config().id2label) {
    try {
      forms.push_back(parse_word_form(label));
    } catch (const Error& error) {
      throw Error(error.kind(), concat(task.name, " restores nothing: ", error.what()), error.hint());
    }
  }
  return forms;
}

}  // namespace

bool restores(const TaskModel& task) {
  try {
    return !forms_of(task).empty();
  } catch (const Error&) {
    return false;
  }
}

std::vector<TaskResult> restore(TaskModel& task, std::span<const Document> documents, const RunOptions& run) {
  const std::vector<WordForm> forms = forms_of(task);
  std::vector<BareText> bare;
  std::vector<Document> read(documents.begin(), documents.end());
  for (Document& document : read) {
    bare.push_back(bare_text(document.first));
    document.first = bare.back().joined;
  }
  const LengthRule rule = windowed_texts(task, run, text::Truncation::kOnlyFirst);
  EncodedBatch encoded(task, read, rule);
  encoded.run(task, run.batch, false, [&](const EncodedBatch::Place& place, const WindowOutput& output) {
    const std::vector<TaggedToken> tokens =
        tagged_tokens(*task.tokenizer, read[place.document].first, encoded.encoding(place), numbers(output.logits));
    const std::size_t windows = encoded[place.document].windows.size();
    const auto [begin, end] = own_tokens(tokens.size(), place.window, windows, static_cast<std::size_t>(rule.stride));
    take_labels(bare[place.document], std::span(tokens).subspan(begin, end - begin), forms);
  });
  std::vector<TaskResult> results(documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) {
    results[i] = {result_of(restored_text(documents[i].first, bare[i], forms)), encoded.metadata(i)};
  }
  return results;
}

}  // namespace weft::tasks
