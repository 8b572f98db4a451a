// SPDX-License-Identifier: Apache-2.0
// A head of nine numbers a token: five of the first, four of all.
#include "weft/fine_tuning/open_answers/page_objective.h"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <array>
#include <optional>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/random.h"
#include "weft/fine_tuning/open_answers/row_writer.h"
#include "weft/fine_tuning/record_reading.h"
#include "weft/fine_tuning/review.h"
#include "weft/models/heads/task_loss.h"
#include "weft/tasks/decode/scores.h"
#include "weft/tasks/task_run.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;
using readers::NaturalQuestion;
using readers::PageAnswer;
using readers::PageSpan;

// Columns of the head, and their labels.
constexpr std::int64_t kShortStart = 0;
constexpr std::int64_t kShortEnd = 1;
constexpr std::int64_t kLongStart = 2;
constexpr std::int64_t kLongEnd = 3;
constexpr std::int64_t kPageType = 4;
constexpr std::size_t kPageColumns = 9;
constexpr std::size_t kPageTypes = 5;
constexpr std::array<const char*, kPageColumns> kPageLabels = {
    "short start", "short end", "long start", "long end", "null", "yes", "no", "short", "long"};

// Kept of a window: logits of its types; then of each candidate its score, whether there is a short span in it, that
// span's score, and its first byte and end in the page's text.
constexpr std::size_t kCandidateNumbers = 5;

// A column of logits [tokens, kPageColumns].
std::vector<float> page_column(std::span<const float> logits, std::int64_t number) {
  std::vector<float> values;
  values.reserve(logits.size() / kPageColumns);
  for (auto i = static_cast<std::size_t>(number); i < logits.size(); i += kPageColumns) {
    values.push_back(logits[i]);
  }
  return values;
}

// The bytes that tokens [first, end) of a page take; nothing where all are tags or the span says none.
std::optional<text::Span> bytes_of(const PageSpan& span, const std::vector<text::Span>& bytes) {
  std::optional<text::Span> found;
  for (std::int64_t token = std::max<std::int64_t>(span.start_token, 0);
       span.has_tokens() && token < std::min(span.end_token, std::ssize(bytes)); ++token) {
    const text::Span& own = bytes[static_cast<std::size_t>(token)];
    if (own.end > own.begin) {
      found = {found ? found->begin : own.begin, own.end};
    }
  }
  return found;
}

// The tokens of the page that bytes of its text touch.
PageSpan tokens_of_page(const text::Span& shown, const std::vector<text::Span>& bytes) {
  PageSpan span;
  for (std::size_t token = 0; token < bytes.size(); ++token) {
    if (bytes[token].end > shown.begin && bytes[token].begin < shown.end && bytes[token].end > bytes[token].begin) {
      span.start_token = span.start_token < 0 ? static_cast<std::int64_t>(token) : span.start_token;
      span.end_token = static_cast<std::int64_t>(token) + 1;
    }
  }
  return span;
}

Json span_json(const PageSpan& span) {
  return {{"start_byte", span.start_byte},
          {"end_byte", span.end_byte},
          {"start_token", span.start_token},
          {"end_token", span.end_token}};
}

const char* yes_no_name(PageAnswer::YesNo answer) {
  return answer == PageAnswer::YesNo::kYes ? "YES" : answer == PageAnswer::YesNo::kNo ? "NO" : "NONE";
}

}  // namespace

PageObjective::PageObjective(Setup given) : Objective(std::move(given), models::Head::kTokenClassification) {
  refuse_label_settings(setup());
}

HeadChoice PageObjective::choose_head() { return token_numbers(setup(), {kPageLabels.begin(), kPageLabels.end()}); }

std::vector<std::pair<std::string, std::string>> PageObjective::remarks() const {
  const auto with =
      std::count_if(targets_.begin(), targets_.end(), [](const Target& target) { return target.type != kNull; });
  return {{"windows", concat(with, " of ", targets_.size(), " have a long answer whole")},
          {"global", "the question, where the attention names `input`"}};
}

PageObjective::Page PageObjective::page_of(const NaturalQuestion& question) {
  Page page;
  for (const readers::PageToken& token : question.tokens) {
    if (token.html) {
      page.bytes.push_back({});
      continue;
    }
    page.text += page.text.empty() ? "" : " ";
    const std::int64_t begin = std::ssize(page.text);
    page.text += token.text;
    page.bytes.push_back({begin, std::ssize(page.text)});
  }
  return page;
}

// The part of the page that a window shows, and the candidates that lie in it whole.
PageObjective::Window PageObjective::window_of(const NaturalQuestion& question, const Page& page,
                                               const text::Encoding& encoding) const {
  Window window;
  window.part = shown_part(encoding, page.text);
  const std::int64_t end = window.part.from + std::ssize(window.part.text);
  for (std::size_t number = 0; number < question.candidates.size(); ++number) {
    const auto bytes = bytes_of(question.candidates[number], page.bytes);
    if (!bytes || bytes->begin < window.part.from || bytes->end > end) {
      continue;
    }
    if (const auto tokens = tokens_at(window.part, {bytes->begin - window.part.from, bytes->end - window.part.from})) {
      window.candidates.push_back({number, *tokens});
    }
  }
  return window;
}

// Of the first annotator who marked a long answer.
PageObjective::Target PageObjective::target_of(const NaturalQuestion& question, const Page& page,
                                               const Window& window) {
  const auto marked = std::find_if(question.annotations.begin(), question.annotations.end(),
                                   [](const PageAnswer& one) { return !one.long_answer.none(); });
  const auto shown = [&](const PageSpan& span) -> std::optional<TokenSpan> {
    const auto bytes = bytes_of(span, page.bytes);
    const std::int64_t begin = window.part.from;
    if (!bytes || bytes->begin < begin || bytes->end > begin + std::ssize(window.part.text)) {
      return std::nullopt;
    }
    return tokens_at(window.part, {bytes->begin - begin, bytes->end - begin});
  };
  Target target;
  const auto whole = marked != question.annotations.end() ? shown(marked->long_answer) : std::nullopt;
  if (!whole) {
    return target;
  }
  target.type = kLong;
  target.long_answer = *whole;
  if (marked->yes_no != PageAnswer::YesNo::kNone) {
    target.type = marked->yes_no == PageAnswer::YesNo::kYes ? kYes : kNo;
    return target;
  }
  for (const PageSpan& span : marked->short_answers) {  // several are one, from the first to the last
    if (const auto tokens = shown(span)) {
      const bool is_first = target.type != kShort;
      target.short_answer.first = is_first ? tokens->first : std::min(target.short_answer.first, tokens->first);
      target.short_answer.last = std::max(target.short_answer.last, tokens->last);
      target.type = kShort;
    }
  }
  return target;
}

void PageObjective::add_question(Split split, NaturalQuestion question, const std::string& file, ReadSummary& summary) {
  const Page page = page_of(question);
  const tasks::EncodedDocument encoded = tasks::encode_document(
      *setup().model.tokenizer, {question.question, page.text, concat(file, " question ", question.id)},
      window_rule(text::Truncation::kOnlySecond));
  summary.note_cut(encoded.left_out);
  for (const text::Encoding& encoding : encoded.windows) {
    // Candidates are scored, and not learned.
    Window window =
        split == Split::kHeldOut ? window_of(question, page, encoding) : Window{shown_part(encoding, page.text), {}};
    add_window(split, encoding, question_tokens(encoding));
    if (split == Split::kTraining) {
      targets_.push_back(target_of(question, page, window));
    } else {
      parts_.add(window.part);
      candidates_.push_back(std::move(window.candidates));
    }
  }
  if (split == Split::kHeldOut) {
    question.tokens.clear();
    questions_.push_back(
        {std::move(question), page.bytes, candidates_.size() - encoded.windows.size(), encoded.windows.size()});
  }
}

ReadSummary PageObjective::read_files(Split split, const std::vector<std::string>& paths) {
  ReadSummary summary;
  const auto open = [](const std::filesystem::path& path, const std::string& /*format*/,
                       const readers::ReadOptions& options) {
    return std::make_unique<readers::NaturalQuestionsReader>(path, options);
  };
  const auto visit = [&](const NaturalQuestion& question, const std::filesystem::path& file) {
    take(split, [&] {
      add_question(split, question, quote(file.native(), 4096), summary);
      keep_origin(split, [&] { return Json{{"file", file.string()}, {"question", question.question}}; });
    });
  };
  read_each(paths, setup().data, "jsonl", open, visit, summary.records);
  return summary;
}

at::Tensor PageObjective::loss(const models::EncoderOutput& output, const TrainingBatch& batch) const {
  const at::Tensor logits = output.logits.to(at::kFloat);
  const at::Tensor keep = kept_tokens(batch.input);
  std::vector<std::int64_t> types;
  std::array<std::vector<std::vector<std::int64_t>>, 4> places;  // by column
  for (std::size_t row = 0; row < batch.examples.size(); ++row) {
    const Target& target = targets_[static_cast<std::size_t>(batch.examples[row])];
    types.push_back(target.type);
    places[kShortStart].push_back({batch.first(row, target.short_answer.first)});
    places[kShortEnd].push_back({batch.last(row, target.short_answer.last)});
    places[kLongStart].push_back({batch.first(row, target.long_answer.first)});
    places[kLongEnd].push_back({batch.last(row, target.long_answer.last)});
  }
  at::Tensor loss =
      models::cross_entropy(logits.select(1, 0).narrow(1, kPageType, kPageTypes), at::tensor(types, at::kLong));
  for (std::size_t column = 0; column < places.size(); ++column) {
    loss = loss + any_place_loss(logits.select(2, static_cast<std::int64_t>(column)), keep, places.at(column));
  }
  return loss;
}

// Its type, and a place for the start and the end of each answer.
std::vector<at::Tensor> PageObjective::choices(const models::EncoderOutput& output, const TrainingBatch& batch) const {
  const at::Tensor keep = kept_tokens(batch.input);
  const at::Tensor logits = output.logits.to(at::kFloat);
  std::vector<at::Tensor> all = {logits.select(1, 0).narrow(1, kPageType, kPageTypes)};
  for (const std::int64_t number : {kShortStart, kShortEnd, kLongStart, kLongEnd}) {
    all.push_back(among_kept(logits.select(2, number), keep));
  }
  return all;
}

std::int64_t PageObjective::numbers(std::int64_t example) const {
  return static_cast<std::int64_t>(kPageTypes +
                                   kCandidateNumbers * candidates_.at(static_cast<std::size_t>(example)).size());
}

void PageObjective::keep(const tasks::WindowOutput& output, std::int64_t example, std::span<double> kept) const {
  const std::span<const float> logits = tasks::numbers(output.logits);
  tasks::require_finite(logits);
  const RowPart whole = parts_.part(static_cast<std::size_t>(example));
  const std::vector<Shown>& candidates = candidates_.at(static_cast<std::size_t>(example));
  for (std::size_t type = 0; type < kPageTypes; ++type) {
    kept[type] = static_cast<double>(logits[static_cast<std::size_t>(kPageType) + type]);
  }
  const std::vector<float> short_starts = page_column(logits, kShortStart);
  const std::vector<float> short_ends = page_column(logits, kShortEnd);
  const std::vector<float> long_starts = page_column(logits, kLongStart);
  const std::vector<float> long_ends = page_column(logits, kLongEnd);
  const auto sum = [](const std::vector<float>& starts, const std::vector<float>& ends, std::int64_t first,
                      std::int64_t last) {
    return static_cast<double>(starts[static_cast<std::size_t>(first)]) +
           static_cast<double>(ends[static_cast<std::size_t>(last)]);
  };
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const TokenSpan tokens = candidates[i].tokens;
    const std::span<double> own = kept.subspan(kPageTypes + kCandidateNumbers * i, kCandidateNumbers);
    own[0] = sum(long_starts, long_ends, tokens.first, tokens.last) - sum(long_starts, long_ends, 0, 0);
    const RowPart part = cut_part(whole, tokens);
    if (const auto best = best_span(short_starts, short_ends, {&part, 1}, setup().data.max_answer_length)) {
      own[1] = 1.0;
      own[2] = best->score - sum(short_starts, short_ends, 0, 0);
      own[3] = static_cast<double>(whole.from + best->bytes.begin);
      own[4] = static_cast<double>(whole.from + best->bytes.end);
    }
  }
}

metrics::PagePrediction PageObjective::prediction_of(const HeldOut& held_out, Kept numbers) const {
  constexpr double kNothing = -1e30;
  metrics::PagePrediction found{{}, kNothing, kNothing};
  std::size_t begin = 0;
  for (std::size_t row = held_out.first_row; row < held_out.first_row + held_out.rows; ++row) {
    const Kept types = numbers.subspan(begin, kPageTypes);
    begin += kPageTypes;
    for (const Shown& shown : candidates_[row]) {
      const Kept own = numbers.subspan(begin, kCandidateNumbers);
      begin += kCandidateNumbers;
      if (own[0] <= found.long_score) {
        continue;
      }
      found.long_score = own[0];
      found.answer = {held_out.question.candidates[shown.candidate], {}, PageAnswer::YesNo::kNone};
      found.short_score = own[1] > 0 ? own[2] : kNothing;
      if (std::max(types[kYes], types[kNo]) > types[kShort]) {
        found.answer.yes_no = types[kYes] >= types[kNo] ? PageAnswer::YesNo::kYes : PageAnswer::YesNo::kNo;
        found.short_score = std::max(types[kYes], types[kNo]) - types[kNull];
      } else if (own[1] > 0) {
        found.answer.short_answers = {
            tokens_of_page({static_cast<std::int64_t>(own[3]), static_cast<std::int64_t>(own[4])}, held_out.bytes)};
      }
    }
  }
  return found;
}

std::vector<metrics::PagePrediction> PageObjective::find_answers(Kept kept) const {
  std::vector<metrics::PagePrediction> all;
  std::size_t begin = 0;
  for (const HeldOut& held_out : questions_) {
    std::size_t count = 0;
    for (std::size_t row = held_out.first_row; row < held_out.first_row + held_out.rows; ++row) {
      count += static_cast<std::size_t>(numbers(static_cast<std::int64_t>(row)));
    }
    all.push_back(prediction_of(held_out, kept.subspan(begin, count)));
    begin += count;
  }
  return all;
}

metrics::NaturalQuestionsScorer PageObjective::scored(const std::vector<metrics::PagePrediction>& answers) const {
  metrics::NaturalQuestionsScorer scorer;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    scorer.add(answers[i], questions_[i].question.annotations);
  }
  return scorer;
}

Json PageObjective::figures(Kept kept) const {
  const metrics::NaturalQuestionsScorer scorer = scored(find_answers(kept));
  const metrics::ThresholdPoint long_point = scorer.long_answers().best;
  const metrics::ThresholdPoint short_point = scorer.short_answers().best;
  return {
      {"long_f1", long_point.f1},   {"long_precision", long_point.precision},   {"long_recall", long_point.recall},
      {"short_f1", short_point.f1}, {"short_precision", short_point.precision}, {"short_recall", short_point.recall}};
}

Findings PageObjective::findings(Kept kept) const {
  const std::vector<metrics::PagePrediction> answers = find_answers(kept);
  const bool none = std::all_of(answers.begin(), answers.end(),
                                [](const metrics::PagePrediction& one) { return one.answer.long_answer.none(); });
  Findings found;
  found.doubt = scored(answers).remark();
  if (none && !answers.empty()) {
    found.doubt += concat(found.doubt.empty() ? "" : "; ", "no window shows a candidate of the ", answers.size(),
                          " held-out questions whole; give longer windows");
  }
  return found;
}

Json PageObjective::errors(Kept kept) const {
  const std::vector<metrics::PagePrediction> answers = find_answers(kept);
  const auto text_of = [](const PageSpan& span) {
    return span.none() ? std::string("no answer") : concat("tokens ", span.start_token, " to ", span.end_token);
  };
  Json errors = Json::array();
  for (std::size_t i = 0; i < answers.size() && errors.size() < kMostErrors; ++i) {
    const NaturalQuestion& question = questions_[i].question;
    const auto same =
        std::find_if(question.annotations.begin(), question.annotations.end(), [&](const PageAnswer& one) {
          return one.long_answer.start_token == answers[i].answer.long_answer.start_token &&
                 one.long_answer.end_token == answers[i].answer.long_answer.end_token;
        });
    if (same == question.annotations.end()) {
      errors.push_back({{"question", shortened(question.question)},
                        {"text", row_text(Split::kHeldOut, static_cast<std::int64_t>(questions_[i].first_row))},
                        {"truth", text_of(question.annotations.front().long_answer)},
                        {"predicted", text_of(answers[i].answer.long_answer)}});
    }
  }
  return errors;
}

void PageObjective::predictions(Kept kept, const WriteLine& write) const {
  const std::vector<metrics::PagePrediction> answers = find_answers(kept);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const metrics::PagePrediction& one = answers[i];
    Json spans = Json::array();
    for (const PageSpan& span : one.answer.short_answers) {
      spans.push_back(span_json(span));
    }
    write({{"example_id", questions_[i].question.id},
           {"long_answer", span_json(one.answer.long_answer)},
           {"long_answer_score", one.long_score},
           {"short_answers", std::move(spans)},
           {"short_answers_score", one.short_score},
           {"yes_no_answer", yes_no_name(one.answer.yes_no)}});
  }
}

std::uint64_t PageObjective::fingerprint() const {
  std::uint64_t print = 0;
  for (const Target& target : targets_) {
    print = random_bits(print, static_cast<std::uint64_t>(target.short_answer.first),
                        static_cast<std::uint64_t>(target.short_answer.last));
    print = random_bits(print ^ target.type, static_cast<std::uint64_t>(target.long_answer.first),
                        static_cast<std::uint64_t>(target.long_answer.last));
  }
  return print;
}

}  // namespace weft::fine_tuning
