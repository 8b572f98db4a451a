// SPDX-License-Identifier: Apache-2.0
// Scores are the logits of a head of one number a token, read where the candidates' marks stand.
#include "weft/fine_tuning/open_answers/wikihop_objective.h"

#include <ATen/ops/tensor.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/random.h"
#include "weft/core/system/option_name.h"
#include "weft/fine_tuning/label_logits.h"
#include "weft/fine_tuning/record_reading.h"
#include "weft/fine_tuning/review.h"
#include "weft/metrics/open_answers/candidates.h"
#include "weft/metrics/sums.h"
#include "weft/models/heads/task_loss.h"
#include "weft/tasks/decode/scores.h"
#include "weft/tasks/task_run.h"
#include "weft/tasks/text_too_long.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

constexpr const char* kCandidateMark = "[ent]";

// The relation is one word, whose parts have underscores between them.
std::string readable_query(const std::string& query) {
  std::string text = query;
  std::replace(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(text.find(' '), text.size())), '_',
               ' ');
  return text;
}

std::size_t best_of(const std::vector<double>& scores) {
  return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

std::int64_t number_of_answer(const readers::WikiHopQuestion& question) {
  return std::find(question.candidates.begin(), question.candidates.end(), question.answer) -
         question.candidates.begin();
}

}  // namespace

WikiHopObjective::WikiHopObjective(Setup given)
    : Objective(std::move(given), models::Head::kTokenClassification),
      begin_(begin_mark(setup().model)),
      separator_(separator_mark(setup().model)),
      candidate_(own_mark(setup().model, kCandidateMark)) {
  refuse_label_settings(setup());
}

HeadChoice WikiHopObjective::choose_head() { return token_numbers(setup(), {"candidate"}); }

std::vector<std::pair<std::string, std::string>> WikiHopObjective::remarks() const {
  return {{"marks", concat(candidate_.name, " before each candidate",
                           candidate_.named ? "" : concat(", since the vocabulary has no ", kCandidateMark))},
          {"global", "question and candidates, where the attention names `input`"}};
}

// What every row of a question begins with.
RowWriter WikiHopObjective::begun(const readers::WikiHopQuestion& question, std::vector<std::int64_t>& marks) const {
  const text::HuggingFaceTokenizer& tokenizer = *setup().model.tokenizer;
  RowWriter row;
  row.add(begin_, true);
  row.add(plain_tokens(tokenizer, readable_query(question.query)), true);
  for (const std::string& candidate : question.candidates) {
    marks.push_back(row.add(candidate_, true));
    row.add(plain_tokens(tokenizer, " " + candidate), true);
  }
  row.add(separator_, true);
  row.begin_documents();
  return row;
}

void WikiHopObjective::add_question(Split split, readers::WikiHopQuestion question, const std::string& file,
                                    ReadSummary& summary) {
  Target target;
  target.right = number_of_answer(question);
  const RowWriter prefix = begun(question, target.marks);
  const std::int64_t room = setup().model.maximum - prefix.size();
  if (room < 2 || room * 4 < setup().model.maximum) {
    throw tasks::UnfitText(
        concat(file, " question ", quote(question.id), ": the question and its ", question.candidates.size(),
               " candidates take ", prefix.size(), " of the ", setup().model.maximum, " tokens that ",
               setup().model.name, " reads at once, and must leave a quarter to the documents"),
        concat(option("on_error"), " skip leaves the question out"));
  }
  std::vector<RowWriter> windows = {prefix};
  std::int64_t left_out = 0;
  for (const std::string& document : question.documents) {
    const text::Encoding tokens = plain_tokens(*setup().model.tokenizer, " " + document);
    for (std::size_t done = 0; done < tokens.ids.size();) {
      const std::int64_t free = setup().model.maximum - windows.back().size() - 1;  // a separator ends each part
      if (free <= 0 && setup().data.truncate) {
        left_out += std::ssize(tokens.ids) - static_cast<std::int64_t>(done);
        break;
      }
      if (free <= 0) {
        windows.push_back(prefix);
        continue;
      }
      const std::size_t end = std::min(tokens.ids.size(), done + static_cast<std::size_t>(free));
      windows.back().add(tokens, done, end, false);
      windows.back().add(separator_, false);
      done = end;
    }
  }
  summary.cut += left_out > 0 ? 1 : 0;
  summary.left_out += left_out;
  const auto first_row = static_cast<std::size_t>(rows(split).size());
  for (const RowWriter& row : windows) {
    add_window(split, row.window(setup().model.types), row.globals());
    targets_[split].push_back(target);
  }
  if (split == Split::kHeldOut) {
    question.documents.clear();
    questions_.push_back({std::move(question), first_row, windows.size()});
  }
}

ReadSummary WikiHopObjective::read_files(Split split, const std::vector<std::string>& paths) {
  ReadSummary summary;
  const auto open = [](const std::filesystem::path& path, const std::string& /*format*/,
                       const readers::ReadOptions& options) {
    return std::make_unique<readers::WikiHopReader>(path, options);
  };
  const auto visit = [&](const readers::WikiHopQuestion& question, const std::filesystem::path& file) {
    take(split, [&] {
      add_question(split, question, quote(file.native(), 4096), summary);
      keep_origin(split,
                  [&] { return Json{{"file", file.string()}, {"id", question.id}, {"question", question.query}}; });
    });
  };
  read_each(paths, setup().data, "json", open, visit, summary.records);
  return summary;
}

// [rows, most candidates]; where a row has fewer, what no softmax sees.
at::Tensor WikiHopObjective::scores(const models::EncoderOutput& output, const TrainingBatch& batch) const {
  std::size_t most = 0;
  for (const std::int64_t example : batch.examples) {
    most = std::max(most, targets_[Split::kTraining][static_cast<std::size_t>(example)].marks.size());
  }
  const auto count = batch.examples.size();
  std::vector<std::int64_t> places(count * most, 0);
  std::vector<std::int64_t> absent(count * most, 1);
  for (std::size_t row = 0; row < count; ++row) {
    const Target& target = targets_[Split::kTraining][static_cast<std::size_t>(batch.examples[row])];
    for (std::size_t i = 0; i < target.marks.size(); ++i) {
      places[row * most + i] = batch.first(row, target.marks[i]);
      absent[row * most + i] = 0;
    }
  }
  const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(count), static_cast<std::int64_t>(most)};
  const at::Tensor at_marks =
      output.logits.to(at::kFloat).squeeze(-1).gather(1, at::tensor(places, at::kLong).view(shape));
  return at_marks.masked_fill(at::tensor(absent, at::kLong).view(shape).ne(0), kNever);
}

at::Tensor WikiHopObjective::loss(const models::EncoderOutput& output, const TrainingBatch& batch) const {
  std::vector<std::int64_t> right;
  for (const std::int64_t example : batch.examples) {
    right.push_back(targets_[Split::kTraining][static_cast<std::size_t>(example)].right);
  }
  return models::cross_entropy(scores(output, batch), at::tensor(right, at::kLong));
}

std::vector<at::Tensor> WikiHopObjective::choices(const models::EncoderOutput& output,
                                                  const TrainingBatch& batch) const {
  return {scores(output, batch)};
}

std::int64_t WikiHopObjective::numbers(std::int64_t example) const {
  return std::ssize(targets_[Split::kHeldOut].at(static_cast<std::size_t>(example)).marks);
}

void WikiHopObjective::keep(const tasks::WindowOutput& output, std::int64_t example, std::span<double> kept) const {
  const std::span<const float> logits = tasks::numbers(output.logits);
  tasks::require_finite(logits);
  const std::vector<std::int64_t>& marks = targets_[Split::kHeldOut].at(static_cast<std::size_t>(example)).marks;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    kept[i] = static_cast<double>(logits[static_cast<std::size_t>(marks[i])]);
  }
}

// Of each question's candidates.
std::vector<std::vector<double>> WikiHopObjective::mean_scores(Kept kept) const {
  std::vector<std::vector<double>> all;
  std::size_t begin = 0;
  for (const HeldOut& held_out : questions_) {
    std::vector<double> means(held_out.question.candidates.size(), 0.0);
    for (std::size_t row = 0; row < held_out.rows; ++row) {
      for (double& mean : means) {
        mean += kept[begin++] / static_cast<double>(held_out.rows);
      }
    }
    all.push_back(std::move(means));
  }
  return all;
}

std::vector<std::int64_t> WikiHopObjective::right_ones() const {
  std::vector<std::int64_t> right;
  right.reserve(questions_.size());
  for (const HeldOut& held_out : questions_) {
    right.push_back(number_of_answer(held_out.question));
  }
  return right;
}

Json WikiHopObjective::figures(Kept kept) const {
  const std::vector<std::vector<double>> scores = mean_scores(kept);
  metrics::CandidateScorer scorer;
  std::vector<double> losses;
  for (std::size_t i = 0; i < questions_.size(); ++i) {
    const readers::WikiHopQuestion& question = questions_[i].question;
    scorer.add(question.candidates[best_of(scores[i])], question.answer, question.candidates);
    losses.push_back(cross_entropy_of(scores[i], number_of_answer(question)));
  }
  return {{"accuracy", scorer.accuracy()}, {"loss", metrics::mean(losses)}};
}

Findings WikiHopObjective::findings(Kept kept) const {
  std::vector<std::int64_t> chosen;
  for (const std::vector<double>& scores : mean_scores(kept)) {
    chosen.push_back(static_cast<std::int64_t>(best_of(scores)));
  }
  Findings found;
  if (const std::int64_t others = others_of_one(right_ones(), chosen); others > 0) {
    found.doubt = concat("the model takes candidate ", chosen.front(), " (counted from 0) of each of the ",
                         chosen.size(), " held-out questions, of which ", others, " have another right one", kMore);
  }
  return found;
}

Json WikiHopObjective::errors(Kept kept) const {
  const std::vector<std::vector<double>> scores = mean_scores(kept);
  Json errors = Json::array();
  for (std::size_t i = 0; i < questions_.size() && errors.size() < kMostErrors; ++i) {
    const readers::WikiHopQuestion& question = questions_[i].question;
    const std::size_t best = best_of(scores[i]);
    if (question.candidates[best] != question.answer) {
      errors.push_back({{"question", shortened(question.query)},
                        {"text", row_text(Split::kHeldOut, static_cast<std::int64_t>(questions_[i].first_row))},
                        {"truth", shortened(question.answer)},
                        {"predicted", shortened(question.candidates[best])},
                        {"score", probabilities(scores[i])[best]}});
    }
  }
  return errors;
}

void WikiHopObjective::predictions(Kept kept, const WriteLine& write) const {
  const std::vector<std::vector<double>> scores = mean_scores(kept);
  for (std::size_t i = 0; i < questions_.size(); ++i) {
    const readers::WikiHopQuestion& question = questions_[i].question;
    write({{"id", question.id},
           {"answer", question.candidates[best_of(scores[i])]},
           {"candidates", question.candidates},
           {"scores", probabilities(scores[i])},
           {"truth", question.answer}});
  }
}

std::uint64_t WikiHopObjective::fingerprint() const {
  std::uint64_t print = 0;
  for (const Target& target : targets_[Split::kTraining]) {
    print = random_bits(print, static_cast<std::uint64_t>(target.right), target.marks.size());
  }
  return print;
}

}  // namespace weft::fine_tuning
