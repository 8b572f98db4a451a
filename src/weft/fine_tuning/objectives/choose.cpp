// SPDX-License-Identifier: Apache-2.0
// Every example has the same number of choices, so that a batch is one tensor.
#include "weft/fine_tuning/objectives/choose.h"

#include <ATen/ops/tensor.h>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/random.h"
#include "weft/fine_tuning/label_logits.h"
#include "weft/fine_tuning/record_reading.h"
#include "weft/fine_tuning/review.h"
#include "weft/metrics/classification.h"
#include "weft/readers/input/columns.h"
#include "weft/readers/json_document_reader.h"
#include "weft/readers/json_lines_reader.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

struct Puzzle {
  std::string prompt;
  std::vector<std::string> choices;
  std::int64_t label = 0;
};

Puzzle puzzle_of(const readers::JsonRecord& record, const std::string& place) {
  Puzzle question;
  question.prompt = readers::string_field(record.object, readers::known_field(record.object, "prompt"), place);
  const auto choices = record.object.find(readers::known_field(record.object, "choices"));
  if (choices == record.object.end() || !choices->is_array() || choices->size() < 2) {
    readers::malformed(place, ": \"choices\" must be a list of at least two texts");
  }
  for (const Json& choice : *choices) {
    if (!choice.is_string()) {
      readers::malformed(place, ": a choice must be a string, found ", choice.type_name());
    }
    question.choices.push_back(choice.get<std::string>());
  }
  const auto label = record.object.find(readers::known_field(record.object, "label"));
  const bool fits = label != record.object.end() && label->is_number_integer() && *label >= 0 &&
                    *label < static_cast<std::int64_t>(question.choices.size());
  if (!fits) {
    readers::malformed(place, ": \"label\" must be the number of the right choice, 0 to ", question.choices.size() - 1);
  }
  question.label = label->get<std::int64_t>();
  return question;
}

Json origin_of_puzzle(const readers::JsonRecord& record, const Puzzle& question, const std::filesystem::path& file) {
  Json origin = {{"file", file.string()}, {"line", record.line}};
  if (const auto id = record.object.find("id"); id != record.object.end()) {
    origin["id"] = *id;
  }
  origin["prompt"] = question.prompt;
  return origin;
}

}  // namespace

ChooseObjective::ChooseObjective(Setup given) : Objective(std::move(given), models::Head::kMultipleChoice) {
  require(setup().task.class_weights.empty(), "class_weights are for tasks with labels; choose has none");
}

ReadSummary ChooseObjective::read_files(Split split, const std::vector<std::string>& paths) {
  ReadSummary summary;
  const auto open = [](const std::filesystem::path& path, const std::string& format,
                       const readers::ReadOptions& options) {
    return readers::open_json_records(readers::ByteSource(path), format, options);
  };
  const auto visit = [&](const readers::JsonRecord& record, const std::filesystem::path& file) {
    const std::string place = concat(quote(file.native(), 4096), " line ", record.line);
    const Puzzle question = puzzle_of(record, place);
    const auto count = static_cast<std::int64_t>(question.choices.size());
    choices_ = choices_ == 0 ? count : choices_;
    if (count != choices_) {
      readers::malformed(place, ": ", count, " choices, but the examples before have ", choices_);
    }
    take(split, [&] {  // only now: a malformed record is no example
      std::vector<tasks::Document> rows;
      rows.reserve(question.choices.size());
      for (const std::string& choice : question.choices) {
        rows.push_back({question.prompt, choice, place});
      }
      add_rows(split, rows, summary);
      truth_[split].push_back(question.label);
      keep_origin(split, [&] { return origin_of_puzzle(record, question, file); });
    });
  };
  read_each(paths, setup().data, "jsonl json", open, visit, summary.records);
  return summary;
}

at::Tensor ChooseObjective::loss(const models::EncoderOutput& output, const TrainingBatch& batch) const {
  std::vector<std::int64_t> labels;
  for (const std::int64_t example : batch.examples) {
    labels.push_back(truth_[Split::kTraining][static_cast<std::size_t>(example)]);
  }
  return label_loss(output.logits, at::tensor(labels, at::kLong), {{}, setup().label_smoothing});
}

std::int64_t ChooseObjective::numbers(std::int64_t /*example*/) const { return choices_; }

Json ChooseObjective::figures(Kept kept) const {
  const std::vector<std::int64_t>& truth = truth_[Split::kHeldOut];
  const auto width = static_cast<std::size_t>(choices_);
  return {{"accuracy", metrics::accuracy(truth, best_labels(kept, width))},
          {"loss", mean_cross_entropy(kept, width, truth)}};
}

Json ChooseObjective::errors(Kept kept) const {
  const std::vector<std::int64_t>& truth = truth_[Split::kHeldOut];
  const auto width = static_cast<std::size_t>(choices_);
  const std::vector<std::int64_t> chosen = best_labels(kept, width);
  Json errors = Json::array();
  for (std::size_t i = 0; i < truth.size() && errors.size() < kMostErrors; ++i) {
    if (chosen[i] == truth[i]) {
      continue;
    }
    const auto first = static_cast<std::int64_t>(i) * choices_;
    errors.push_back({{"text", row_text(Split::kHeldOut, first + truth[i])},
                      {"truth", concat("choice ", truth[i])},
                      {"predicted", concat("choice ", chosen[i], ": ", row_text(Split::kHeldOut, first + chosen[i]))},
                      {"score", probabilities(kept.subspan(i * width, width))[static_cast<std::size_t>(chosen[i])]}});
  }
  return errors;
}

void ChooseObjective::predictions(Kept kept, const WriteLine& write) const {
  const std::vector<std::int64_t>& truth = truth_[Split::kHeldOut];
  const auto width = static_cast<std::size_t>(choices_);
  const std::vector<std::int64_t> chosen = best_labels(kept, width);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    write({{"index", chosen[i]}, {"scores", probabilities(kept.subspan(i * width, width))}, {"truth", truth[i]}});
  }
}

Findings ChooseObjective::findings(Kept kept) const {
  const std::vector<std::int64_t> chosen = best_labels(kept, static_cast<std::size_t>(choices_));
  const std::int64_t others = others_of_one(truth_[Split::kHeldOut], chosen);
  Findings found;
  if (others > 0) {
    found.doubt = concat("the model takes choice ", chosen.front(), " of each of the ", chosen.size(),
                         " held-out questions, of which ", others, " have another right one", kMore);
  }
  return found;
}

std::uint64_t ChooseObjective::fingerprint() const {
  std::uint64_t print = static_cast<std::uint64_t>(choices_);
  for (const std::int64_t label : truth_[Split::kTraining]) {
    print = random_bits(print, static_cast<std::uint64_t>(label));
  }
  return print;
}

}  // namespace weft::fine_tuning
