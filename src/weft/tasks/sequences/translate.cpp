// SPDX-License-Identifier: Apache-2.0
// All sentences of all documents go to the model together, so that its batches are full whatever the documents' sizes.
#include "weft/tasks/sequences/translate.h"

#include <algorithm>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/system/option_name.h"
#include "weft/core/work/pieces.h"
#include "weft/generation/processors/processor.h"
#include "weft/tasks/sequences/languages.h"
#include "weft/text/hugging_face/texts.h"
#include "weft/text/utf8.h"

namespace weft::tasks {
namespace {

// A document on its way: what is translated, and where its sources lie among those of all documents.
struct Assignment {
  std::string name;        // of the document, as errors call it
  std::string text;        // the document, in valid UTF-8
  std::size_t offset = 0;  // of what is translated: behind its own code and the blanks around it, which are ASCII
  std::string prefix;      // the language code, with a blank
  Segments segments;       // of body()
  std::size_t first_source = 0;
  std::int64_t tokens = 0;

  std::string_view body() const { return std::string_view(text).substr(offset); }
};

// What the model reads for a stretch. Text that only looks like a language code is none.
std::string readable(const Assignment& task, std::string_view stretch) {
  return concat(task.prefix.empty() && stretch.starts_with(">>") ? " " : task.prefix, stretch);
}

class Translation {
 public:
  Translation(const SequenceModel& model, const TranslateOptions& options)
      : model_(model), options_(options), codes_(model.tokenizer->language_codes()) {}

  void add(const Document& document) {
    Assignment task{.name = document.name};
    task.text = text::valid_text(document.first);
    if (task.text.empty()) {
      task.text = document.first;
    }
    check_own_code(model_, task.text, document.name);
    const std::string own = own_code(task.text, codes_);
    require(!own.empty() || options_.code || codes_.empty(), document.name, ": ", model_.name,
            " writes several languages: name one with ", option("target_lang"),
            ", or begin the text with its >>code<<; it has ", [&] { return some_codes(codes_); });
    const std::string code = own.empty() ? options_.code.value_or("") : own;
    task.prefix = code.empty() ? code : code + " ";
    task.offset = behind_code(task.text, own);
    task.first_source = sources_.size();
    const auto fits = [&](std::string_view stretch) {
      return static_cast<std::int64_t>(ids_of(task, stretch, document).size()) <= model_.longest;
    };
    task.segments = segments_of(task.body(), splitter(document, fits), fits);
    for (const text::SentencePlace& place : task.segments.places) {
      numbers_.push_back(draw_number(document.place, sources_.size() - task.first_source));
      sources_.push_back(ids_of(task, place.in(task.body()), document));
      const auto tokens = static_cast<std::int64_t>(sources_.back().size());
      require(tokens <= model_.longest, document.name, ": ", model_.name, " reads ", model_.longest,
              " tokens, too few for one character with its special tokens");
      task.tokens += tokens;
    }
    tasks_.push_back(std::move(task));
  }

  std::vector<TaskResult> run() {
    const std::vector<Writing> written = options_.on_translated ? write_in_order() : write_sources(0, sources_.size());
    std::vector<TaskResult> results;
    results.reserve(tasks_.size());
    for (const Assignment& task : tasks_) {
      end_piece();
      results.push_back(result_of(task, std::span(written).subspan(task.first_source, task.segments.places.size())));
    }
    return results;
  }

 private:
  Ids ids_of(const Assignment& task, std::string_view stretch, const Document& document) const {
    end_piece();
    return options_.languages ? source_ids(model_, stretch, document.name, options_.languages->frame)
                              : source_ids(model_, readable(task, stretch), document.name);
  }

  std::vector<Writing> write_sources(std::size_t first, std::size_t count) const {
    try {
      return write_all(*model_.writer,
                       {.sources = std::span(sources_).subspan(first, count),
                        .numbers = std::span(numbers_).subspan(first, count),
                        .language = language()},
                       options_.batch);
    } catch (const generation::PromptError& error) {
      const std::size_t source = first + static_cast<std::size_t>(error.item());
      // Of documents without a sentence, which have no source, the last one that begins there has it.
      const auto behind = std::ranges::upper_bound(tasks_, source, {}, &Assignment::first_source);
      throw error.named(std::prev(behind)->name);
    }
  }

  TargetLanguage language() const { return options_.languages ? options_.languages->target : TargetLanguage{}; }

  // Sentences, or the whole, which then must fit.
  SplitText splitter(const Document& document, const FitsModel& fits) const {
    if (options_.split) {
      return options_.split;
    }
    return [this, &document, fits](std::string_view body) -> std::vector<text::SentencePlace> {
      require(fits(body), document.name, ": the text has more than the ", model_.longest, " tokens that ", model_.name,
              " reads: translate it by sentences");
      return {{0, body.size()}};
    };
  }

  // The same texts, with stretches handed on as they come. Little is written at first: somebody waits for it.
  std::vector<Writing> write_in_order() const {
    std::vector<Writing> all;
    std::size_t task = 0;
    std::int64_t count = 1;
    hand_on_empty(task, 0);
    while (all.size() < sources_.size()) {
      const std::size_t more = std::min(static_cast<std::size_t>(count), sources_.size() - all.size());
      for (Writing& one : write_sources(all.size(), more)) {
        const std::size_t source = all.size();
        all.push_back(std::move(one));
        task += hand_on(task, source, all.back()) ? 1 : 0;
        hand_on_empty(task, source + 1);
      }
      count = std::min(2 * count, options_.batch.rows);
    }
    return all;
  }

  // Documents without a sentence are their own translation.
  void hand_on_empty(std::size_t& number, std::size_t source) const {
    while (number < tasks_.size() && tasks_[number].segments.places.empty() && tasks_[number].first_source == source) {
      tell(number, tasks_[number].body(), {});
      ++number;
    }
  }

  // Whether the source was the last one of the document.
  bool hand_on(std::size_t number, std::size_t source, const Writing& written) const {
    const Assignment& task = tasks_[number];
    const std::vector<text::SentencePlace>& places = task.segments.places;
    const std::size_t at = source - task.first_source;
    const std::size_t begin = at == 0 ? 0 : places[at - 1].end;
    const bool last = at + 1 == places.size();
    require(!written.texts.empty(), model_.name, ": the search found no text");
    tell(number,
         concat(task.body().substr(begin, places[at].begin - begin), written_text(model_, written.texts.front().ids),
                last ? task.body().substr(places[at].end) : std::string_view()),
         places[at].in(task.body()));
    return last;
  }

  void tell(std::size_t number, std::string_view text, std::string_view source) const {
    if (!options_.on_translated(number, text, source)) {
      fail(ErrorKind::kInterrupted, "nobody waits for the rest of the translation");
    }
  }

  TaskResult result_of(const Assignment& task, std::span<const Writing> written) const {
    // A text without a sentence is its own translation, as often as others have one.
    std::size_t alternatives = written.empty() ? static_cast<std::size_t>(model_.alternatives) : 1;
    std::int64_t incomplete = 0;
    for (const Writing& found : written) {
      require(!found.texts.empty(), model_.name, ": the search found no text");
      alternatives = std::max(alternatives, found.texts.size());
      incomplete += found.texts.front().complete ? 0 : 1;
    }
    TaskResult result{.result = formats::Json::array(), .metadata = formats::Json::object()};
    for (std::size_t i = 0; i < alternatives; ++i) {
      std::vector<std::string> texts;
      texts.reserve(written.size());
      for (const Writing& found : written) {
        texts.push_back(written_text(model_, found.texts[std::min(i, found.texts.size() - 1)].ids));
      }
      result.result.push_back({{"translation_text", text::with_sentences(task.body(), task.segments.places, texts)},
                               {"sentences", aligned(task, texts)}});
    }
    const formats::Json& sentences = result.result.front()["sentences"];
    const auto divided = std::count_if(sentences.begin(), sentences.end(),
                                       [](const formats::Json& sentence) { return sentence.contains("parts"); });
    result.metadata = {
        {"tokens", task.tokens}, {"sentences", sentences.size()}, {"divided", divided}, {"incomplete", incomplete}};
    if (!written.empty()) {
      result.metadata.update(*written.front().computed);
    }
    return result;
  }

  // Each sentence with its translation, and its place in code points of the document.
  static formats::Json aligned(const Assignment& task, std::span<const std::string> texts) {
    formats::Json sentences = formats::Json::array();
    std::size_t point = task.offset;  // of byte `byte` of the body
    std::size_t byte = 0;
    const auto point_of = [&](std::size_t place) {
      point += text::code_point_count(task.body().substr(byte, place - byte));
      byte = place;
      return point;
    };
    const Segments& segments = task.segments;
    for (std::size_t first = 0, end = 0; first < texts.size(); first = end) {
      while (end < texts.size() && segments.sentence[end] == segments.sentence[first]) {
        ++end;
      }
      const text::SentencePlace whole{segments.places[first].begin, segments.places[end - 1].end};
      std::vector<text::SentencePlace> parts;
      for (std::size_t i = first; i < end; ++i) {
        parts.push_back({segments.places[i].begin - whole.begin, segments.places[i].end - whole.begin});
      }
      const std::string_view source = whole.in(task.body());
      formats::Json sentence = {{"source", source},
                                {"translation", text::with_sentences(source, parts, texts.subspan(first, end - first))},
                                {"start", point_of(whole.begin)},
                                {"end", point_of(whole.end)}};
      if (parts.size() > 1) {
        sentence["parts"] = parts.size();
      }
      sentences.push_back(std::move(sentence));
    }
    return sentences;
  }

  const SequenceModel& model_;
  const TranslateOptions& options_;
  std::vector<std::string> codes_;
  std::vector<Assignment> tasks_;
  std::vector<Ids> sources_;
  Ids numbers_;  // of the sources
};

}  // namespace

std::vector<TaskResult> translate(const SequenceModel& model, std::span<const Document> documents,
                                  const TranslateOptions& options) {
  Translation translation(model, options);
  for (const Document& document : documents) {
    translation.add(document);
  }
  return translation.run();
}

}  // namespace weft::tasks
