// SPDX-License-Identifier: Apache-2.0
// A file says behind its questions what is asked of them, so that it is looked through before it is read.
#include "weft/fine_tuning/open_answers/trivia_objective.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/random.h"
#include "weft/fine_tuning/open_answers/row_writer.h"
#include "weft/fine_tuning/record_reading.h"
#include "weft/fine_tuning/review.h"
#include "weft/metrics/open_answers/trivia.h"
#include "weft/tasks/decode/scores.h"
#include "weft/tasks/task_run.h"

namespace weft::fine_tuning {
namespace {

namespace fs = std::filesystem;
using formats::Json;
using readers::TriviaPage;
using readers::TriviaQuestion;

constexpr std::size_t kPageNumbers = 4;  // of a window: first byte, end, sum of logits, whether there is a span

// The folder that holds wikipedia and web.
fs::path evidence_of(const fs::path& file) {
  const fs::path folder = fs::absolute(file).parent_path();
  std::error_code error;
  for (const fs::path& beside : {folder, folder.parent_path()}) {
    if (fs::is_directory(beside / "evidence", error)) {
      return beside / "evidence";
    }
  }
  fail(ErrorKind::kIo, quote(file.native(), 4096), ": expected its documents in a folder 'evidence' in ",
       quote(folder.native(), 4096), " or ", quote(folder.parent_path().native(), 4096), ", found none");
}

}  // namespace

/// The surest span of a question.
struct TriviaObjective::Found {
  std::string text;
  double score = -std::numeric_limits<double>::infinity();
};

/// The windows of a document, and what each shows of it.
struct TriviaObjective::ReadPage {
  std::string file;
  std::vector<text::Encoding> windows;
  std::vector<RowPart> parts = {};
  std::int64_t left_out = 0;  // tokens that no window has
};

TriviaObjective::TriviaObjective(Setup given) : Objective(std::move(given), models::Head::kQuestionAnswering) {
  refuse_label_settings(setup());
}

std::vector<std::pair<std::string, std::string>> TriviaObjective::remarks() const {
  return {{"windows", concat(without_answer_, " of ", without_answer_ + std::ssize(targets_),
                             " have no name of the answer, and are not learned")},
          {"global", "the question, where the attention names `input`"}};
}

TriviaObjective::ReadPage TriviaObjective::read_page(const TriviaQuestion& question, const TriviaPage& page,
                                                     const Domain& domain) const {
  const std::string name =
      concat(quote(domain.file.native(), 4096), " question ", quote(question.id), " document ", quote(page.file));
  const std::string document = readers::read_trivia_page(domain.evidence, page);
  tasks::EncodedDocument encoded = tasks::encode_document(*setup().model.tokenizer, {question.question, document, name},
                                                          window_rule(text::Truncation::kOnlySecond));
  ReadPage read{.file = page.file, .windows = std::move(encoded.windows), .left_out = encoded.left_out};
  read.parts.reserve(read.windows.size());
  for (const text::Encoding& window : read.windows) {
    read.parts.push_back(shown_part(window, document));
  }
  return read;
}

void TriviaObjective::add_page(Split split, ReadPage page, const AnswerNames& answer) {
  for (std::size_t i = 0; i < page.windows.size(); ++i) {
    const text::Encoding& window = page.windows[i];
    if (split == Split::kHeldOut) {
      add_window(split, window, question_tokens(window));
      parts_.add(page.parts[i]);
      continue;
    }
    Target target;
    for (const text::Span& bytes : answer.places(page.parts[i].text)) {
      if (const auto tokens = tokens_at(page.parts[i], bytes)) {
        target.starts.push_back(tokens->first);
        target.ends.push_back(tokens->last);
      }
    }
    if (target.starts.empty()) {
      ++without_answer_;
      continue;
    }
    add_window(split, window, question_tokens(window));
    targets_.push_back(std::move(target));
  }
}

// All documents are read before the first is added: a question that cannot be an example has then added nothing.
void TriviaObjective::add_question(Split split, const TriviaQuestion& question, const Domain& domain,
                                   ReadSummary& summary) {
  std::vector<ReadPage> pages;
  for (const TriviaPage& page : question.pages) {
    if (domain.of_pages ? page.verified || !domain.verified_only || split == Split::kTraining
                        : page.source == TriviaPage::Source::kWikipedia) {
      pages.push_back(read_page(question, page, domain));
    }
  }
  std::vector<std::string> names = question.normalized_aliases;
  names.insert(names.end(), question.human_answers.begin(), question.human_answers.end());
  names.push_back(question.answer);
  const AnswerNames answer(names);
  const auto add_held_out = [&](std::string name, std::size_t first_row, const Json& document) {
    HeldOut held_out{std::move(name), question, first_row, parts_.size() - first_row};
    held_out.question.pages.clear();
    questions_.push_back(std::move(held_out));
    keep_origin(Split::kHeldOut, [&] {
      return Json{{"file", domain.file.string()}, {"question", question.question}, {"document", document}};
    });
  };
  const std::size_t first_of_question = parts_.size();
  for (ReadPage& page : pages) {
    summary.note_cut(page.left_out);
    const std::string file = page.file;
    const std::size_t first_of_page = parts_.size();
    add_page(split, std::move(page), answer);
    if (domain.of_pages && split == Split::kHeldOut) {
      add_held_out(question.id + "--" + file, first_of_page, file);
    }
  }
  if (!domain.of_pages && split == Split::kHeldOut) {
    add_held_out(question.id, first_of_question, nullptr);
  }
}

void TriviaObjective::read_questions(Split split, const Domain& domain, ReadSummary& summary) {
  const readers::ReadOptions options = read_options(setup().data);
  readers::TriviaReader reader(domain.file, options);
  const auto visit = [&](const TriviaQuestion& question) {
    const bool counts = !domain.verified_only || question.verified || split == Split::kTraining;
    take(split, [&] {
      if (counts) {
        add_question(split, question, domain, summary);
      }
    });
  };
  read_records(reader, options, visit, summary.records);
}

ReadSummary TriviaObjective::read_files(Split split, const std::vector<std::string>& paths) {
  ReadSummary summary;
  for (const fs::path& path : readers::list_files(paths)) {
    kind_for(path, setup().data, "json jsonl");  // one object, in a line or in many
    ++summary.records.kinds["json"];
    readers::TriviaReader look(path, {.skip_malformed = true}, readers::QuestionPart::kGold);
    for (TriviaQuestion question; look.next(question);) {
    }
    read_questions(split, {path, evidence_of(path), look.domain() == "Web", look.verified_only()}, summary);
  }
  return summary;
}

at::Tensor TriviaObjective::loss(const models::EncoderOutput& output, const TrainingBatch& batch) const {
  std::vector<std::vector<std::int64_t>> starts;
  std::vector<std::vector<std::int64_t>> ends;
  for (std::size_t row = 0; row < batch.examples.size(); ++row) {
    const Target& target = targets_[static_cast<std::size_t>(batch.examples[row])];
    starts.emplace_back();
    ends.emplace_back();
    for (std::size_t i = 0; i < target.starts.size(); ++i) {
      starts.back().push_back(batch.first(row, target.starts[i]));
      ends.back().push_back(batch.last(row, target.ends[i]));
    }
  }
  const at::Tensor keep = kept_tokens(batch.input);
  return (any_place_loss(output.start_logits, keep, starts) + any_place_loss(output.end_logits, keep, ends)) / 2;
}

std::vector<at::Tensor> TriviaObjective::choices(const models::EncoderOutput& output,
                                                 const TrainingBatch& batch) const {
  const at::Tensor keep = kept_tokens(batch.input);
  return {among_kept(output.start_logits, keep), among_kept(output.end_logits, keep)};
}

std::int64_t TriviaObjective::numbers(std::int64_t /*example*/) const { return kPageNumbers; }

void TriviaObjective::keep(const tasks::WindowOutput& output, std::int64_t example, std::span<double> kept) const {
  const std::span<const float> starts = tasks::numbers(output.start_logits);
  const std::span<const float> ends = tasks::numbers(output.end_logits);
  tasks::require_finite(starts);
  tasks::require_finite(ends);
  const RowPart part = parts_.part(static_cast<std::size_t>(example));
  if (const auto best = best_span(starts, ends, {&part, 1}, setup().data.max_answer_length)) {
    kept[0] = static_cast<double>(best->bytes.begin);
    kept[1] = static_cast<double>(best->bytes.end);
    kept[2] = best->score;
    kept[3] = 1.0;
  }
}

std::vector<TriviaObjective::Found> TriviaObjective::find_answers(Kept kept) const {
  std::vector<Found> all;
  for (const HeldOut& held_out : questions_) {
    Found found;
    for (std::size_t row = held_out.first_row; row < held_out.first_row + held_out.rows; ++row) {
      const Kept numbers = kept.subspan(row * kPageNumbers, kPageNumbers);
      if (numbers[3] > 0 && numbers[2] > found.score) {
        const auto begin = static_cast<std::size_t>(numbers[0]);
        found.score = numbers[2];
        found.text = parts_.text(row).substr(begin, static_cast<std::size_t>(numbers[1]) - begin);
      }
    }
    all.push_back(std::move(found));
  }
  return all;
}

Json TriviaObjective::figures(Kept kept) const {
  const std::vector<Found> answers = find_answers(kept);
  metrics::TriviaScorer scorer;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    scorer.add(answers[i].text, questions_[i].question);
  }
  const metrics::AnswerMean mean = scorer.mean();
  return {{"exact_match", mean.percent.exact}, {"f1", mean.percent.f1}};
}

Findings TriviaObjective::findings(Kept kept) const {
  const std::vector<Found> answers = find_answers(kept);
  Findings found;
  const bool same =
      std::all_of(answers.begin(), answers.end(), [&](const Found& one) { return one.text == answers.front().text; });
  if (answers.size() > 1 && same) {
    found.doubt = concat("the model answers each of the ", answers.size(), " held-out questions with ",
                         quote(shortened(answers.front().text, 60)), kMore);
  }
  return found;
}

Json TriviaObjective::errors(Kept kept) const {
  const std::vector<Found> answers = find_answers(kept);
  Json errors = Json::array();
  for (std::size_t i = 0; i < answers.size() && errors.size() < kMostErrors; ++i) {
    const HeldOut& held_out = questions_[i];
    if (metrics::score_trivia_answer(answers[i].text, held_out.question).exact == 0.0) {
      errors.push_back({{"question", shortened(held_out.question.question)},
                        {"text", held_out.rows > 0 ? shortened(parts_.text(held_out.first_row)) : std::string()},
                        {"truth", shortened(held_out.question.answer)},
                        {"predicted", shortened(answers[i].text)}});
    }
  }
  return errors;
}

void TriviaObjective::predictions(Kept kept, const WriteLine& write) const {
  const std::vector<Found> answers = find_answers(kept);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    write({{"id", questions_[i].name}, {"answer", answers[i].text}, {"truth", questions_[i].question.answer}});
  }
}

std::uint64_t TriviaObjective::fingerprint() const {
  std::uint64_t print = 0;
  for (const Target& target : targets_) {
    for (std::size_t i = 0; i < target.starts.size(); ++i) {
      print =
          random_bits(print, static_cast<std::uint64_t>(target.starts[i]), static_cast<std::uint64_t>(target.ends[i]));
    }
  }
  return print;
}

}  // namespace weft::fine_tuning
