// SPDX-License-Identifier: Apache-2.0
// A head of six numbers a token, of which each kind of token is asked for its own.
#include "weft/fine_tuning/open_answers/hotpot_objective.h"

#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <array>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/random.h"
#include "weft/core/system/option_name.h"
#include "weft/fine_tuning/record_reading.h"
#include "weft/fine_tuning/review.h"
#include "weft/models/heads/task_loss.h"
#include "weft/tasks/decode/scores.h"
#include "weft/tasks/task_run.h"
#include "weft/tasks/text_too_long.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;
using readers::SupportingFact;

constexpr const char* kSentenceMark = "[s]";

// Columns of the head, and their labels.
constexpr std::int64_t kStart = 0;
constexpr std::int64_t kEnd = 1;
constexpr std::int64_t kFact = 2;
constexpr std::int64_t kType = 3;  // span, yes, no
constexpr std::int64_t kColumns = 6;
constexpr std::array<const char*, kColumns> kHotpotLabels = {"start", "end", "fact", "span", "yes", "no"};

// Kept of a question: three logits of types; part, first byte, end and whether there is a span; a logit for each mark.
constexpr std::size_t kPart = 3;
constexpr std::size_t kFirstByte = 4;
constexpr std::size_t kEndByte = 5;
constexpr std::size_t kHasSpan = 6;
constexpr std::size_t kFirstFact = 7;

std::string with_blank(const std::string& text) { return text.starts_with(' ') ? text : " " + text; }

Json facts_json(const std::vector<SupportingFact>& facts) {
  Json list = Json::array();
  for (const SupportingFact& fact : facts) {
    list.push_back({fact.title, fact.sentence});
  }
  return list;
}

// A column of logits [tokens, kColumns].
std::vector<float> column(std::span<const float> logits, std::int64_t number) {
  std::vector<float> values;
  values.reserve(logits.size() / kColumns);
  for (auto i = static_cast<std::size_t>(number); i < logits.size(); i += kColumns) {
    values.push_back(logits[i]);
  }
  return values;
}

}  // namespace

HotpotObjective::HotpotObjective(Setup given)
    : Objective(std::move(given), models::Head::kTokenClassification),
      begin_(begin_mark(setup().model)),
      separator_(separator_mark(setup().model)),
      sentence_(own_mark(setup().model, kSentenceMark)) {
  refuse_label_settings(setup());
}

HeadChoice HotpotObjective::choose_head() {
  return token_numbers(setup(), {kHotpotLabels.begin(), kHotpotLabels.end()});
}

std::vector<std::pair<std::string, std::string>> HotpotObjective::remarks() const {
  std::vector<std::pair<std::string, std::string>> lines = {
      {"marks", concat(sentence_.name, " behind each sentence",
                       sentence_.named ? "" : concat(", since the vocabulary has no ", kSentenceMark))},
      {"global", "question, and the mark of each title and sentence, where the attention names `input`"}};
  if (without_place_ > 0) {
    lines.emplace_back("answers", concat(without_place_, " of ", targets_.size(),
                                         " are spelled in no sentence, so that their places are not learned"));
  }
  return lines;
}

// Whole sentences, as many as fit.
HotpotObjective::Row HotpotObjective::row_of(const readers::HotpotQuestion& question, const std::string& name) const {
  const text::HuggingFaceTokenizer& tokenizer = *setup().model.tokenizer;
  const std::int64_t maximum = setup().model.maximum;
  Row row;
  row.tokens.add(begin_, true);
  row.tokens.add(plain_tokens(tokenizer, question.question), true);
  if (row.tokens.size() >= maximum) {
    throw tasks::UnfitText(concat(name, ": the question takes ", row.tokens.size(), " of the ", maximum,
                                  " tokens that ", setup().model.name, " reads at once, and leaves none to paragraphs"),
                           concat(option("on_error"), " skip leaves the question out"));
  }
  row.tokens.begin_documents();
  std::int64_t all = row.tokens.size();
  const auto add = [&](const std::string& text, const RowMark* before, const RowMark* behind) {
    const text::Encoding tokens = plain_tokens(tokenizer, text);
    all += std::ssize(tokens.ids) + 1;
    if (all > maximum) {
      row.left_out += std::ssize(tokens.ids) + 1;
      return false;
    }
    if (before != nullptr) {
      row.tokens.add(*before, true);
    }
    row.parts.push_back(row_part(text, tokens, row.tokens.size()));
    row.tokens.add(tokens, false);
    if (behind != nullptr) {
      row.marks.push_back(row.tokens.add(*behind, true));
    }
    return true;
  };
  for (const readers::HotpotParagraph& paragraph : question.paragraphs) {
    add(with_blank(paragraph.title), &separator_, nullptr);
    for (std::size_t number = 0; number < paragraph.sentences.size(); ++number) {
      if (add(with_blank(paragraph.sentences[number]), nullptr, &sentence_)) {
        row.facts.push_back({paragraph.title, static_cast<std::int64_t>(number)});
      }
    }
  }
  if (row.left_out > 0 && !setup().data.truncate) {
    throw tasks::TextTooLong(
        concat(name, ": ", all, " tokens, but ", setup().model.name, " takes at most ", maximum, " at once"),
        concat(option("truncate"), " leaves out the sentences behind, and prints how many tokens these were; ",
               option("on_error"), " skip leaves out the question"));
  }
  return row;
}

HotpotObjective::Target HotpotObjective::target_of(const readers::HotpotQuestion& question, const Row& row) {
  Target target;
  target.marks = row.marks;
  for (const SupportingFact& fact : row.facts) {
    target.supports.push_back(std::find(question.facts.begin(), question.facts.end(), fact) != question.facts.end());
  }
  target.type = question.answer == "yes" ? kYes : question.answer == "no" ? kNo : kSpan;
  // Where it is spelled in what supports it; else anywhere.
  const auto look = [&](bool in_facts) {
    for (const RowPart& part : row.parts) {
      const auto mark = std::find(row.marks.begin(), row.marks.end(), part.end());
      const bool supports =
          mark != row.marks.end() && target.supports[static_cast<std::size_t>(mark - row.marks.begin())];
      if (in_facts && !supports) {
        continue;
      }
      for (const TokenSpan& span : spelled_at(part, question.answer)) {
        target.starts.push_back(span.first);
        target.ends.push_back(span.last);
      }
    }
  };
  if (target.type == kSpan) {
    look(true);
    if (target.starts.empty()) {
      look(false);
    }
    without_place_ += target.starts.empty() ? 1 : 0;
  }
  return target;
}

void HotpotObjective::add_question(Split split, const readers::HotpotQuestion& question, const std::string& file,
                                   ReadSummary& summary) {
  Row row = row_of(question, concat(file, " question ", quote(question.id)));
  add_window(split, row.tokens.window(setup().model.types), row.tokens.globals());
  summary.cut += row.left_out > 0 ? 1 : 0;
  summary.left_out += row.left_out;
  if (split == Split::kTraining) {
    targets_.push_back(target_of(question, row));
    return;
  }
  HeldOut held_out{question, std::move(row.parts), std::move(row.marks), std::move(row.facts)};
  held_out.question.paragraphs.clear();
  questions_.push_back(std::move(held_out));
}

ReadSummary HotpotObjective::read_files(Split split, const std::vector<std::string>& paths) {
  ReadSummary summary;
  const auto open = [](const std::filesystem::path& path, const std::string& /*format*/,
                       const readers::ReadOptions& options) {
    return std::make_unique<readers::HotpotReader>(path, options);
  };
  const auto visit = [&](const readers::HotpotQuestion& question, const std::filesystem::path& file) {
    take(split, [&] {
      add_question(split, question, quote(file.native(), 4096), summary);
      keep_origin(split,
                  [&] { return Json{{"file", file.string()}, {"id", question.id}, {"question", question.question}}; });
    });
  };
  read_each(paths, setup().data, "json", open, visit, summary.records);
  return summary;
}

at::Tensor HotpotObjective::loss(const models::EncoderOutput& output, const TrainingBatch& batch) const {
  const at::Tensor logits = output.logits.to(at::kFloat);
  std::vector<std::int64_t> types;
  std::vector<std::vector<std::int64_t>> starts;
  std::vector<std::vector<std::int64_t>> ends;
  std::vector<std::int64_t> marks;  // of all rows, in the flattened batch
  std::vector<double> supports;
  for (std::size_t row = 0; row < batch.examples.size(); ++row) {
    const Target& target = targets_[static_cast<std::size_t>(batch.examples[row])];
    types.push_back(target.type);
    starts.emplace_back();
    ends.emplace_back();
    for (std::size_t i = 0; i < target.starts.size(); ++i) {
      starts.back().push_back(batch.first(row, target.starts[i]));
      ends.back().push_back(batch.last(row, target.ends[i]));
    }
    for (std::size_t i = 0; i < target.marks.size(); ++i) {
      marks.push_back(static_cast<std::int64_t>(row) * logits.size(1) + batch.first(row, target.marks[i]));
      supports.push_back(target.supports[i] ? 1.0 : 0.0);
    }
  }
  const at::Tensor keep = kept_tokens(batch.input);
  at::Tensor loss = models::cross_entropy(logits.select(1, 0).narrow(1, kType, 3), at::tensor(types, at::kLong)) +
                    any_place_loss(logits.select(2, kStart), keep, starts) +
                    any_place_loss(logits.select(2, kEnd), keep, ends);
  if (!marks.empty()) {
    const at::Tensor at_marks = logits.select(2, kFact).flatten().index_select(0, at::tensor(marks, at::kLong));
    loss = loss + at::binary_cross_entropy_with_logits(at_marks, at::tensor(supports, at::kFloat));
  }
  return loss;
}

// Its type, and a place for the start and the end of each.
std::vector<at::Tensor> HotpotObjective::choices(const models::EncoderOutput& output,
                                                 const TrainingBatch& batch) const {
  const at::Tensor keep = kept_tokens(batch.input);
  const at::Tensor logits = output.logits.to(at::kFloat);
  return {logits.select(1, 0).narrow(1, kType, 3), among_kept(logits.select(2, kStart), keep),
          among_kept(logits.select(2, kEnd), keep)};
}

std::int64_t HotpotObjective::numbers(std::int64_t example) const {
  return static_cast<std::int64_t>(kFirstFact + questions_.at(static_cast<std::size_t>(example)).marks.size());
}

void HotpotObjective::keep(const tasks::WindowOutput& output, std::int64_t example, std::span<double> kept) const {
  const std::span<const float> logits = tasks::numbers(output.logits);
  tasks::require_finite(logits);
  const HeldOut& held_out = questions_.at(static_cast<std::size_t>(example));
  for (std::size_t type = 0; type < 3; ++type) {
    kept[type] = static_cast<double>(logits[static_cast<std::size_t>(kType) + type]);
  }
  if (const auto best =
          best_span(column(logits, kStart), column(logits, kEnd), held_out.parts, setup().data.max_answer_length)) {
    kept[kPart] = static_cast<double>(best->part);
    kept[kFirstByte] = static_cast<double>(best->bytes.begin);
    kept[kEndByte] = static_cast<double>(best->bytes.end);
    kept[kHasSpan] = 1.0;
  }
  const std::vector<float> facts = column(logits, kFact);
  for (std::size_t i = 0; i < held_out.marks.size(); ++i) {
    kept[kFirstFact + i] = static_cast<double>(facts[static_cast<std::size_t>(held_out.marks[i])]);
  }
}

std::vector<HotpotObjective::Said> HotpotObjective::said(Kept kept) const {
  std::vector<Said> all;
  std::size_t begin = 0;
  for (const HeldOut& held_out : questions_) {
    const Kept numbers = kept.subspan(begin, kFirstFact + held_out.marks.size());
    begin += numbers.size();
    Said one;
    one.type = static_cast<AnswerType>(std::max_element(numbers.begin(), numbers.begin() + 3) - numbers.begin());
    constexpr std::array<const char*, 3> kAnswers = {"", "yes", "no"};
    one.prediction.answer = kAnswers.at(one.type);
    if (one.type == kSpan && numbers[kHasSpan] > 0) {
      const auto first = static_cast<std::size_t>(numbers[kFirstByte]);
      one.prediction.answer = held_out.parts[static_cast<std::size_t>(numbers[kPart])].text.substr(
          first, static_cast<std::size_t>(numbers[kEndByte]) - first);
    }
    std::vector<SupportingFact>& facts = one.prediction.facts.emplace();
    for (std::size_t i = 0; i < held_out.facts.size(); ++i) {
      const bool again = std::find(facts.begin(), facts.end(), held_out.facts[i]) != facts.end();
      if (numbers[kFirstFact + i] > 0.0 && !again) {
        facts.push_back(held_out.facts[i]);
      }
    }
    all.push_back(std::move(one));
  }
  return all;
}

Json HotpotObjective::figures(Kept kept) const {
  const std::vector<Said> answers = said(kept);
  metrics::HotpotScorer scorer;
  double right_types = 0.0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const readers::HotpotQuestion& question = questions_[i].question;
    scorer.add(answers[i].prediction, question.answer, question.facts);
    const AnswerType truth = question.answer == "yes" ? kYes : question.answer == "no" ? kNo : kSpan;
    right_types += answers[i].type == truth ? 1.0 : 0.0;
  }
  const metrics::HotpotReport report = scorer.report();
  return {{"em", report.answer.exact},
          {"f1", report.answer.f1},
          {"sp_em", report.facts.exact},
          {"sp_f1", report.facts.f1},
          {"joint_em", report.joint.exact},
          {"joint_f1", report.joint.f1},
          {"type_accuracy", right_types / static_cast<double>(answers.size())}};
}

Findings HotpotObjective::findings(Kept kept) const {
  const std::vector<Said> answers = said(kept);
  const bool some =
      std::any_of(answers.begin(), answers.end(), [](const Said& one) { return !one.prediction.facts->empty(); });
  const bool wanted = std::any_of(questions_.begin(), questions_.end(),
                                  [](const HeldOut& held_out) { return !held_out.question.facts.empty(); });
  Findings found;
  if (!some && wanted) {
    found.doubt = concat("the model takes no sentence of the ", answers.size(), " held-out questions to support the ",
                         "answer", kMore);
  }
  return found;
}

Json HotpotObjective::errors(Kept kept) const {
  const std::vector<Said> answers = said(kept);
  Json errors = Json::array();
  for (std::size_t i = 0; i < answers.size() && errors.size() < kMostErrors; ++i) {
    const readers::HotpotQuestion& question = questions_[i].question;
    if (metrics::score_hotpot_answer(*answers[i].prediction.answer, question.answer).exact > 0) {
      continue;
    }
    errors.push_back({{"question", shortened(question.question)},
                      {"text", row_text(Split::kHeldOut, static_cast<std::int64_t>(i))},
                      {"truth", shortened(question.answer)},
                      {"predicted", shortened(*answers[i].prediction.answer)}});
  }
  return errors;
}

void HotpotObjective::predictions(Kept kept, const WriteLine& write) const {
  const std::vector<Said> answers = said(kept);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const readers::HotpotQuestion& question = questions_[i].question;
    write({{"id", question.id},
           {"answer", *answers[i].prediction.answer},
           {"sp", facts_json(*answers[i].prediction.facts)},
           {"type", kHotpotLabels.at(static_cast<std::size_t>(kType) + answers[i].type)},
           {"truth", question.answer},
           {"true_sp", facts_json(question.facts)}});
  }
}

std::uint64_t HotpotObjective::fingerprint() const {
  std::uint64_t print = 0;
  for (const Target& target : targets_) {
    print = random_bits(print, target.type, target.marks.size());
    for (std::size_t i = 0; i < target.starts.size(); ++i) {
      print =
          random_bits(print, static_cast<std::uint64_t>(target.starts[i]), static_cast<std::uint64_t>(target.ends[i]));
    }
    for (std::size_t i = 0; i < target.marks.size(); ++i) {
      print = random_bits(print, static_cast<std::uint64_t>(target.marks[i]), target.supports[i] ? 1U : 0U);
    }
  }
  return print;
}

}  // namespace weft::fine_tuning
