// SPDX-License-Identifier: Apache-2.0
// The table of tasks.
#include "weft/fine_tuning/objective.h"

#include <algorithm>
#include <array>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/random.h"
#include "weft/core/system/option_name.h"
#include "weft/core/system/process_rank.h"
#include "weft/data/window_sampler.h"
#include "weft/fine_tuning/label_logits.h"
#include "weft/fine_tuning/objectives/answer.h"
#include "weft/fine_tuning/objectives/choose.h"
#include "weft/fine_tuning/objectives/classify.h"
#include "weft/fine_tuning/objectives/multilabel.h"
#include "weft/fine_tuning/objectives/tag.h"
#include "weft/fine_tuning/open_answers/hotpot_objective.h"
#include "weft/fine_tuning/open_answers/page_objective.h"
#include "weft/fine_tuning/open_answers/trivia_objective.h"
#include "weft/fine_tuning/open_answers/wikihop_objective.h"
#include "weft/fine_tuning/retrieval/embed_objective.h"
#include "weft/fine_tuning/retrieval/rerank_objective.h"
#include "weft/fine_tuning/review.h"
#include "weft/tasks/task_run.h"

namespace weft::fine_tuning {
namespace {

// "folds" in ASCII: whatever the seed of a run, the folds of a data set are the same.
constexpr std::uint64_t kFoldStream = 0x666F6C6473;

template <typename ObjectiveType>
std::unique_ptr<Objective> make_one(Setup setup) {
  return std::make_unique<ObjectiveType>(std::move(setup));
}

}  // namespace

ReadSummary Objective::read(Split split, const std::vector<std::string>& paths) {
  bar_.emplace(split == Split::kTraining ? "reading examples" : "reading held-out examples", 0);
  records_ = 0;
  taken_ = 0;
  ReadSummary summary = read_files(split, paths);
  summary.examples = taken_;
  bar_.reset();
  if (is_first_process()) {
    setup_.model.unknown->warn(split == Split::kTraining ? "of the training data" : "of the data");
  }
  return summary;
}

bool Objective::takes(Split split) {
  const auto folds = static_cast<std::uint64_t>(setup_.data.folds);
  const std::uint64_t number = records_++;
  if (bar_) {
    bar_->update(static_cast<double>(number), concat(number, " records"));
  }
  // Each run of `folds` records has one in every fold, so that classes that stand together are spread evenly.
  const bool held_out = folds > 0 && data::permuted(number % folds, folds, random_bits(kFoldStream, number / folds)) ==
                                         static_cast<std::uint64_t>(setup_.data.fold);
  const bool taken = folds == 0 || held_out == (split == Split::kHeldOut);
  taken_ += taken ? 1 : 0;
  return taken;
}

void Objective::take(Split split, const std::function<void()>& add) {
  if (!takes(split)) {
    return;
  }
  try {
    add();
  } catch (const Error&) {
    --taken_;  // where the record is skipped, it is no example
    throw;
  }
}

void Objective::add_rows(Split split, std::span<const tasks::Document> documents, ReadSummary& summary,
                         std::size_t readings) {
  const tasks::LengthRule rule = {
      .maximum = setup_.model.maximum,
      .overflow = setup_.data.truncate ? tasks::Overflow::kTruncate : tasks::Overflow::kError,
      .model = setup_.model.name,
      .hint = concat(option("truncate"), " cuts the text there, and prints how many were cut; ", option("on_error"),
                     " skip leaves it out")};
  std::vector<tasks::EncodedDocument> rows;
  rows.reserve(documents.size());
  for (const tasks::Document& document : documents) {
    rows.push_back(tasks::encode_document(*setup_.model.tokenizer, document, rule));
  }
  std::int64_t left_out = 0;  // of the text so far
  for (std::size_t i = 0; i < rows.size(); ++i) {
    left_out = std::max(i % readings == 0 ? 0 : left_out, rows[i].left_out);
    if ((i + 1) % readings == 0) {
      summary.note_cut(left_out);
    }
    add_window(split, rows[i].windows.front());
  }
}

tasks::LengthRule Objective::window_rule(text::Truncation side) const {
  tasks::RunOptions run;
  run.truncate = setup_.data.truncate;
  run.stride = setup_.data.stride;
  return tasks::windowed_texts(setup_.model, run, side);
}

void Objective::keep(const tasks::WindowOutput& output, std::int64_t /*example*/, std::span<double> numbers) const {
  keep_logits(output, numbers);
}

formats::Json Objective::review(Findings found, Kept kept) const {
  formats::Json review = std::move(found.details);
  if (!found.confusion.is_null()) {
    review["confusion"] = std::move(found.confusion);
  }
  review["errors"] = errors(kept);
  return review;
}

void Objective::write_predictions(Kept kept, const WriteLine& write) const {
  std::size_t record = 0;
  predictions(kept, [&](const formats::Json& line) {
    formats::Json whole = record < origins_.size() ? origins_[record] : formats::Json::object();
    ++record;
    whole.update(line);
    write(whole);
  });
}

std::string Objective::labels_place() const {
  const std::vector<std::string>& files = setup_.task.train_data;
  return files.empty() ? setup_.model.name + ": config.json" : "train_data: " + quoted_list(files, 3);
}

std::string Objective::row_text(Split split, std::int64_t row) const {
  constexpr std::size_t kMostTokens = 400;  // no token has less than a character of what is shown
  std::vector<std::int64_t> ids = rows(split).row(row).ids;
  ids.resize(std::min(ids.size(), kMostTokens));
  return shortened(setup_.model.tokenizer->decode(ids, true));
}

std::int64_t Objective::length(Split split, std::int64_t example) const {
  std::int64_t longest = 0;
  const RowRange range = row_range(split, example);
  for (std::int64_t row = range.begin; row < range.end; ++row) {
    longest = std::max(longest, rows(split).length(row));
  }
  return longest * (range.end - range.begin);
}

std::vector<TokenRow> Objective::token_rows(Split split, std::span<const std::int64_t> examples) const {
  std::vector<TokenRow> result;
  for (const std::int64_t example : examples) {
    const RowRange range = row_range(split, example);
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      result.push_back(rows(split).row(row));
    }
  }
  return result;
}

models::EncoderInput Objective::input(std::span<const TokenRow> rows, const Padding& padding) const {
  models::EncoderInput input = padded(rows, padding);
  const std::int64_t each = rows_per_example();
  if (each > 1) {
    for (at::Tensor* tensor : {&input.input_ids, &input.attention_mask, &input.token_type_ids, &input.pair_places,
                               &input.global_attention_mask}) {
      *tensor = tensor->defined() ? tensor->view({-1, each, tensor->size(1)}) : *tensor;
    }
  }
  return input;
}

std::span<const TaskEntry> task_table() {
  static constexpr std::string_view kTexts = "auto csv tsv jsonl json text lines fasta";
  static constexpr std::string_view kRecords = "auto csv tsv jsonl json";
  static constexpr std::string_view kColumns = "text_field pair_field label_field header";
  static constexpr std::string_view kBothStrands = "text_field pair_field label_field header label_groups both_strands";
  static constexpr std::string_view kGroups = "text_field pair_field label_field header negative_field score_max";
  static constexpr std::string_view kWindows = "stride max_answer_length";
  static constexpr std::array<TaskEntry, 11> kTable = {
      {{"classify", kTexts, kColumns, make_one<ClassifyObjective>},
       {"multilabel", kTexts, kBothStrands, make_one<MultilabelObjective>},
       {"tag", "auto conll", "stride", make_one<TagObjective>},
       {"answer", "auto squad", "stride max_answer_length null_threshold", make_one<AnswerObjective>},
       {"choose", "auto jsonl json", "", make_one<ChooseObjective>},
       {"embed", kRecords, kGroups, make_one<EmbedObjective>},
       {"rerank", kRecords, kGroups, make_one<RerankObjective>},
       {"hotpotqa", "auto json", "max_answer_length", make_one<HotpotObjective>},
       {"nq", "auto jsonl", kWindows, make_one<PageObjective>},
       {"triviaqa", "auto json", kWindows, make_one<TriviaObjective>},
       {"wikihop", "auto json", "", make_one<WikiHopObjective>}}};
  return kTable;
}

std::unique_ptr<Objective> make_objective(Setup setup) {
  check_data(setup.task.task, setup.data);
  for (const TaskEntry& entry : task_table()) {
    if (entry.name == setup.task.task) {
      return entry.make(std::move(setup));
    }
  }
  fail(ErrorKind::kArgument, "no fine-tuning task is called ", setup.task.task);
}

}  // namespace weft::fine_tuning
