// SPDX-License-Identifier: Apache-2.0
// Spans to tokens and back.
#include "weft/fine_tuning/objectives/answer.h"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/random.h"
#include "weft/fine_tuning/record_reading.h"
#include "weft/fine_tuning/review.h"
#include "weft/metrics/answers.h"
#include "weft/models/heads/task_loss.h"
#include "weft/tasks/decode/answers.h"
#include "weft/tasks/task_run.h"
#include "weft/text/utf8.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

constexpr std::int64_t kKeptNumbers = 5;  // begin, end (bytes), logit, logit of no answer, whether there is a span
constexpr std::int64_t kDocument = 1;     // of a pair's texts

// The tokens of an answer in a window, or none where it is not whole there. Offsets are code points of the document.
std::optional<std::pair<std::int64_t, std::int64_t>> tokens_of(const text::Encoding& window, std::int64_t begin,
                                                               std::int64_t end) {
  std::int64_t first = -1;
  std::int64_t last = -1;
  std::int64_t seen_begin = std::numeric_limits<std::int64_t>::max();
  std::int64_t seen_end = -1;
  for (std::size_t token = 0; token < window.ids.size(); ++token) {
    const text::Span& place = window.offsets[token];
    if (window.sequences[token] != kDocument) {
      continue;
    }
    seen_begin = std::min(seen_begin, place.begin);
    seen_end = std::max(seen_end, place.end);
    if (place.end > begin && place.begin < end) {
      first = first < 0 ? static_cast<std::int64_t>(token) : first;
      last = static_cast<std::int64_t>(token);
    }
  }
  const bool whole = first >= 0 && seen_begin <= begin && seen_end >= end;
  return whole ? std::optional(std::pair(first, last)) : std::nullopt;
}

// A document from shortly before its answer on, or from its start.
std::string text_around_answer(const readers::Question& question) {
  constexpr std::int64_t kBefore = 100;  // code points
  const std::int64_t answer = question.answers.empty() ? 0 : question.answers.front().start;
  const auto first = static_cast<std::size_t>(std::max<std::int64_t>(0, answer - kBefore));
  const std::string_view rest = std::string_view(*question.context).substr(text::byte_offset(*question.context, first));
  return (first > 0 ? "..." : "") + shortened(rest);
}

std::vector<std::string> answer_texts(const readers::Question& question) {
  std::vector<std::string> texts;
  texts.reserve(question.answers.size());
  for (const readers::AnswerSpan& answer : question.answers) {
    texts.push_back(answer.text);
  }
  return texts;
}

}  // namespace

/// What the windows of a question come to.
struct AnswerObjective::Found {
  std::string text;  // of the best span
  double logit = -std::numeric_limits<double>::infinity();
  double null_logit = std::numeric_limits<double>::infinity();
  /// By how much "no answer" is surer than the best span.
  double no_answer() const { return std::isinf(logit) ? std::numeric_limits<double>::max() : null_logit - logit; }
};

AnswerObjective::AnswerObjective(Setup given) : Objective(std::move(given), models::Head::kQuestionAnswering) {
  require(setup().task.class_weights.empty() && setup().label_smoothing == 0.0,
          "class_weights and label_smoothing are for tasks with labels; answer learns places in a text");
}

void AnswerObjective::add_question(Split split, const readers::Question& question, const std::string& file,
                                   ReadSummary& summary) {
  const std::string name = concat(file, " question ", quote(question.id));
  const tasks::EncodedDocument encoded =
      tasks::encode_document(*setup().model.tokenizer, {question.question, *question.context, name},
                             window_rule(text::Truncation::kOnlySecond));
  summary.note_cut(encoded.left_out);
  if (split == Split::kHeldOut) {
    questions_.push_back({question, windows_.size(), encoded.windows.size()});
  }
  for (const text::Encoding& window : encoded.windows) {
    add_window(split, window);
    if (split == Split::kHeldOut) {
      text::Encoding kept;  // what select_answers reads
      kept.ids = window.ids;
      kept.offsets = window.offsets;
      kept.byte_offsets = window.byte_offsets;
      kept.sequences = window.sequences;
      windows_.push_back(std::move(kept));
      continue;
    }
    Target target;
    if (!question.answers.empty()) {
      const readers::AnswerSpan& answer = question.answers.front();
      const auto length = static_cast<std::int64_t>(text::code_point_count(answer.text));
      const auto tokens = tokens_of(window, answer.start, answer.start + length);
      target = tokens ? Target{tokens->first, tokens->second} : Target{};
    }
    targets_.push_back(target);
  }
}

ReadSummary AnswerObjective::read_files(Split split, const std::vector<std::string>& paths) {
  ReadSummary summary;
  const auto open = [](const std::filesystem::path& path, const std::string& /*format*/,
                       const readers::ReadOptions& options) {
    return std::make_unique<readers::SquadReader>(path, options);
  };
  const auto visit = [&](const readers::Question& question, const std::filesystem::path& file) {
    take(split, [&] {
      add_question(split, question, quote(file.native(), 4096), summary);
      keep_origin(split,
                  [&] { return Json{{"file", file.string()}, {"id", question.id}, {"question", question.question}}; });
    });
  };
  read_each(paths, setup().data, "squad", open, visit, summary.records);
  return summary;
}

at::Tensor AnswerObjective::loss(const models::EncoderOutput& output, const TrainingBatch& batch) const {
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> ends;
  for (std::size_t row = 0; row < batch.examples.size(); ++row) {
    const Target& target = targets_[static_cast<std::size_t>(batch.examples[row])];
    starts.push_back(batch.first(row, target.start));
    ends.push_back(batch.last(row, target.end));
  }
  return models::answer_loss(output, kept_tokens(batch.input),
                             {{}, at::tensor(starts, at::kLong), at::tensor(ends, at::kLong)});
}

// A place among those of a row; padding is none, as in the loss.
std::vector<at::Tensor> AnswerObjective::choices(const models::EncoderOutput& output,
                                                 const TrainingBatch& batch) const {
  const at::Tensor keep = kept_tokens(batch.input);
  return {among_kept(output.start_logits, keep), among_kept(output.end_logits, keep)};
}

std::int64_t AnswerObjective::numbers(std::int64_t /*example*/) const { return kKeptNumbers; }

void AnswerObjective::keep(const tasks::WindowOutput& output, std::int64_t example, std::span<double> kept) const {
  const text::Encoding& encoding = windows_[static_cast<std::size_t>(example)];
  const tasks::AnswerWindow window = {&encoding, tasks::numbers(output.start_logits),
                                      tasks::numbers(output.end_logits)};
  const bool has_document =
      std::find(encoding.sequences.begin(), encoding.sequences.end(), kDocument) != encoding.sequences.end();
  if (!has_document) {  // an empty document: nothing but "no answer"
    kept[3] = static_cast<double>(window.start_logits[0]) + static_cast<double>(window.end_logits[0]);
    return;
  }
  tasks::AnswerOptions options;
  options.max_answer_tokens = setup().data.max_answer_length;
  const tasks::Answers answers = tasks::select_answers({&window, 1}, options);
  const tasks::AnswerSpan& best = answers.best.front();
  kept[0] = static_cast<double>(best.byte_offsets.begin);
  kept[1] = static_cast<double>(best.byte_offsets.end);
  kept[2] = best.logit;
  kept[3] = answers.null_logit;
  kept[4] = 1.0;
}

std::vector<AnswerObjective::Found> AnswerObjective::find_answers(Kept kept) const {
  std::vector<Found> all;
  for (const HeldOut& held_out : questions_) {
    Found found;
    for (std::size_t row = held_out.first_row; row < held_out.first_row + held_out.rows; ++row) {
      const auto numbers = kept.subspan(row * kKeptNumbers, kKeptNumbers);
      found.null_logit = std::min(found.null_logit, numbers[3]);
      if (numbers[4] > 0 && numbers[2] > found.logit) {
        const auto begin = static_cast<std::size_t>(numbers[0]);
        found.logit = numbers[2];
        found.text = held_out.question.context->substr(begin, static_cast<std::size_t>(numbers[1]) - begin);
      }
    }
    all.push_back(std::move(found));
  }
  return all;
}

bool AnswerObjective::may_lack_answers() const {
  return std::any_of(questions_.begin(), questions_.end(),
                     [](const HeldOut& held_out) { return held_out.question.answers.empty(); });
}

Json AnswerObjective::figures(Kept kept) const {
  const bool may_lack = may_lack_answers();
  metrics::AnswerScorer scorer(may_lack ? metrics::AnswerRules::kSquad2 : metrics::AnswerRules::kSquad1);
  const std::vector<Found> answers = find_answers(kept);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    scorer.add(answers[i].text, answer_texts(questions_[i].question), answers[i].no_answer());
  }
  const double threshold = may_lack ? setup().data.null_threshold : std::numeric_limits<double>::max();
  const metrics::AnswerReport report = scorer.report(threshold);
  Json figures = {{"exact_match", report.all.percent.exact}, {"f1", report.all.percent.f1}};
  if (may_lack) {
    figures.update({{"has_answer_f1", report.has_answer.percent.f1},
                    {"no_answer_f1", report.no_answer.percent.f1},
                    {"best_exact_match", report.best_exact.percent},
                    {"best_f1", report.best_f1.percent},
                    {"best_threshold", report.best_f1.threshold}});
  }
  return figures;
}

Json AnswerObjective::errors(Kept kept) const {
  const std::vector<Found> answers = find_answers(kept);
  const bool may_lack = may_lack_answers();
  const metrics::AnswerRules rules = may_lack ? metrics::AnswerRules::kSquad2 : metrics::AnswerRules::kSquad1;
  Json errors = Json::array();
  for (std::size_t i = 0; i < answers.size() && errors.size() < kMostErrors; ++i) {
    const readers::Question& question = questions_[i].question;
    const std::vector<std::string> truth = answer_texts(question);
    const bool none = may_lack && answers[i].no_answer() > setup().data.null_threshold;
    const std::string found = none ? std::string() : answers[i].text;
    if (metrics::score_answer(found, truth, rules).exact > 0) {
      continue;
    }
    errors.push_back({{"question", shortened(question.question)},
                      {"text", text_around_answer(question)},
                      {"truth", truth.empty() ? "no answer" : shortened(truth.front())},
                      {"predicted", found.empty() ? "no answer" : shortened(found)}});
  }
  return errors;
}

void AnswerObjective::predictions(Kept kept, const WriteLine& write) const {
  const std::vector<Found> answers = find_answers(kept);
  const bool may_lack = may_lack_answers();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const bool none = may_lack && answers[i].no_answer() > setup().data.null_threshold;
    write({{"id", questions_[i].question.id},
           {"answer", none ? std::string() : answers[i].text},
           {"best", answers[i].text},
           {"no_answer", std::isinf(answers[i].logit) ? Json(nullptr) : Json(answers[i].no_answer())},
           {"truth", answer_texts(questions_[i].question)}});
  }
}

Findings AnswerObjective::findings(Kept kept) const {
  const std::vector<Found> answers = find_answers(kept);
  const bool may_lack = may_lack_answers();
  std::int64_t answered = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const bool none = may_lack && answers[i].no_answer() > setup().data.null_threshold;
    if (!none && !answers[i].text.empty()) {
      return {};
    }
    answered += questions_[i].question.answers.empty() ? 0 : 1;
  }
  Findings found;
  if (answered > 0) {
    found.doubt = concat("the model says \"no answer\" to each of the ", answers.size(),
                         " held-out questions, of which ", answered, " have one", kMore);
  }
  return found;
}

std::uint64_t AnswerObjective::fingerprint() const {
  std::uint64_t print = 0;
  for (const Target& target : targets_) {
    print = random_bits(print, static_cast<std::uint64_t>(target.start), static_cast<std::uint64_t>(target.end));
  }
  return print;
}

}  // namespace weft::fine_tuning
