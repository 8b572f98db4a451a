// SPDX-License-Identifier: Apache-2.0
// Targets in, losses and scores out.
#include "weft/fine_tuning/objectives/classify.h"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "weft/core/error.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"
#include "weft/core/random.h"
#include "weft/fine_tuning/label_logits.h"
#include "weft/fine_tuning/review.h"
#include "weft/metrics/classification.h"
#include "weft/metrics/correlation.h"
#include "weft/metrics/sums.h"
#include "weft/models/heads/task_loss.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

constexpr const char* kRegression = "regression";

bool learns_numbers(const Setup& setup) {
  if (setup.task.problem_type != "auto") {
    return setup.task.problem_type == kRegression;
  }
  return setup.config.head() == models::Head::kSequenceClassification &&
         (setup.config.problem_type == kRegression ||
          (setup.config.problem_type.empty() && setup.config.num_labels() == 1));
}

double target_value(const TextRecord& record) {
  const std::string& word = record.labels.front();
  const std::optional<double> value = real_of(word);
  require(value && std::isfinite(*value), record.document.name, ": regression needs a number as label, found ",
          Quoted(word));
  return *value;
}

template <typename Value>
at::Tensor targets_of(const std::vector<Value>& all, std::span<const std::int64_t> examples, at::ScalarType type) {
  std::vector<Value> chosen;
  chosen.reserve(examples.size());
  for (const std::int64_t example : examples) {
    chosen.push_back(all[static_cast<std::size_t>(example)]);
  }
  return at::tensor(chosen).to(type);
}

}  // namespace

ClassifyObjective::ClassifyObjective(Setup given)
    : Objective(std::move(given), models::Head::kSequenceClassification), regression_(learns_numbers(setup())) {
  require(!regression_ || (setup().task.class_weights.empty() && setup().label_smoothing == 0.0),
          "class_weights and label_smoothing are for tasks with labels; regression learns a number");
}

ReadSummary ClassifyObjective::read_files(Split split, const std::vector<std::string>& paths) {
  ReadSummary summary;
  summary.records = read_text_records(paths, setup().data, LabelCount::kOne, [&](const TextRecord& record) {
    take(split, [&] {
      add_rows(split, {&record.document, 1}, summary);
      add_target(split, record);
      keep_origin(split, [&] { return origin_of(record); });
    });
  });
  return summary;
}

void ClassifyObjective::add_target(Split split, const TextRecord& record) {
  if (regression_) {
    values_[split].push_back(target_value(record));
  } else {
    truth_[split].push_back(labels_.number(record.labels.front(), record.document.name));
  }
}

HeadChoice ClassifyObjective::choose_head() {
  if (regression_) {
    const bool has_head = setup().config.head() == head();
    require(!has_head || setup().config.num_labels() == 1, setup().model.name,
            ": config.json: regression needs a head of one number, but this one has ", setup().config.num_labels(),
            " labels");
    return {has_head ? setup().config.id2label : std::vector<std::string>{"LABEL_0"}, kRegression, !has_head};
  }
  HeadChoice choice = labels_.choose_head(setup().config, head());
  if (choice.labels.size() < 2) {
    fail(ErrorKind::kFormat, labels_place(), ": a classifier needs at least two labels, found ", choice.labels.size());
  }
  choice.problem_type = "single_label_classification";
  const std::vector<std::int64_t> ids = labels_.fix_order(choice.labels);
  std::vector<std::int64_t> counts(choice.labels.size(), 0);
  std::vector<std::int64_t>& truth = truth_[Split::kTraining];
  for (std::int64_t& target : truth) {
    target = ids[static_cast<std::size_t>(target)];
    ++counts[static_cast<std::size_t>(target)];
  }
  if (!truth.empty()) {
    weights_ = label_weights(setup().task.class_weights, counts, static_cast<std::int64_t>(truth.size()), false);
  }
  return choice;
}

at::Tensor ClassifyObjective::loss(const models::EncoderOutput& output, const TrainingBatch& batch) const {
  constexpr Split kSplit = Split::kTraining;
  if (regression_) {
    return models::regression_loss(output.logits, targets_of(values_[kSplit], batch.examples, at::kFloat));
  }
  return label_loss(output.logits, targets_of(truth_[kSplit], batch.examples, at::kLong),
                    {weights_, setup().label_smoothing});
}

std::int64_t ClassifyObjective::numbers(std::int64_t /*example*/) const {
  return regression_ ? 1 : static_cast<std::int64_t>(labels_.names().size());
}

std::vector<std::int64_t> ClassifyObjective::predicted_labels(Kept kept) const {
  return best_labels(kept, labels_.names().size());
}

Json ClassifyObjective::figures(Kept kept) const {
  constexpr Split kSplit = Split::kHeldOut;
  if (regression_) {
    std::vector<double> squares;
    squares.reserve(kept.size());
    for (std::size_t i = 0; i < kept.size(); ++i) {
      squares.push_back((kept[i] - values_[kSplit][i]) * (kept[i] - values_[kSplit][i]));
    }
    return {{"pearson", formats::or_null(metrics::pearson(values_[kSplit], kept))},
            {"spearman", formats::or_null(metrics::spearman(values_[kSplit], kept))},
            {"mean_squared_error", metrics::mean(squares)}};
  }
  const std::vector<std::int64_t> predicted = predicted_labels(kept);
  const auto classes = metrics::count_classes(truth_[kSplit], predicted);
  Json figures = {{"accuracy", metrics::accuracy(truth_[kSplit], predicted)},
                  {"f1_macro", metrics::average_scores(classes, metrics::Averaging::kMacro).f1},
                  {"f1_micro", metrics::average_scores(classes, metrics::Averaging::kMicro).f1},
                  {"matthews", metrics::matthews_correlation(truth_[kSplit], predicted)},
                  {"loss", mean_cross_entropy(kept, labels_.names().size(), truth_[kSplit])}};
  if (labels_.names().size() == 2) {
    const auto second = std::find_if(classes.begin(), classes.end(), [](const auto& one) { return one.label == 1; });
    const metrics::Scores scores = metrics::class_scores(second == classes.end() ? metrics::Counts{} : second->counts);
    figures.update({{"f1", scores.f1}, {"precision", scores.precision}, {"recall", scores.recall}});
  }
  return figures;
}

Findings ClassifyObjective::findings(Kept kept) const {
  constexpr Split kSplit = Split::kHeldOut;
  Findings found;
  if (regression_) {
    if (const auto one = one_number(kept, values_[kSplit])) {
      found.doubt = concat("the model gives ", one->given, " for each of the ", kept.size(),
                           " held-out texts, whose numbers go from ", one->low, " to ", one->high, kMore);
    }
    return found;
  }
  const std::vector<std::int64_t> predicted = predicted_labels(kept);
  const auto name_of = [&](std::int64_t label) { return labels_.names()[static_cast<std::size_t>(label)]; };
  Json labels = Json::array();
  for (const metrics::ClassCounts& one : metrics::count_classes(truth_[kSplit], predicted)) {
    const metrics::Scores scores = metrics::class_scores(one.counts);
    labels.push_back({{"label", name_of(one.label)},
                      {"precision", scores.precision},
                      {"recall", scores.recall},
                      {"f1", scores.f1},
                      {"support", one.counts.actual}});
  }
  found.details["labels"] = std::move(labels);
  found.confusion = confusion_json(truth_[kSplit], predicted, labels_.names());
  if (const std::int64_t others = others_of_one(truth_[kSplit], predicted); others > 0) {
    found.doubt = concat("the model predicts ", quote(name_of(predicted.front())), " for each of the ",
                         predicted.size(), " held-out texts, of which ", others, " have another label", kMore);
  }
  return found;
}

Json ClassifyObjective::numbers_far_off(Kept kept) const {
  const std::vector<double>& truth = values_[Split::kHeldOut];
  std::vector<double> distances;
  distances.reserve(kept.size());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    distances.push_back(std::abs(kept[i] - truth[i]));
  }
  Json errors = Json::array();
  for (const std::size_t example : largest(distances, kMostErrors)) {
    errors.push_back({{"text", row_text(Split::kHeldOut, static_cast<std::int64_t>(example))},
                      {"truth", truth[example]},
                      {"predicted", kept[example]}});
  }
  return errors;
}

Json ClassifyObjective::errors(Kept kept) const {
  if (regression_) {
    return numbers_far_off(kept);
  }
  const std::vector<std::int64_t>& truth = truth_[Split::kHeldOut];
  const std::vector<std::int64_t> predicted = predicted_labels(kept);
  const std::size_t width = labels_.names().size();
  std::vector<double> scores(predicted.size(), -1.0);  // of wrong labels
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    if (predicted[i] != truth[i]) {
      scores[i] = probabilities(kept.subspan(i * width, width))[static_cast<std::size_t>(predicted[i])];
    }
  }
  Json errors = Json::array();
  for (const std::size_t example : largest(scores, kMostErrors)) {
    if (scores[example] >= 0) {
      errors.push_back({{"text", row_text(Split::kHeldOut, static_cast<std::int64_t>(example))},
                        {"truth", labels_.names()[static_cast<std::size_t>(truth[example])]},
                        {"predicted", labels_.names()[static_cast<std::size_t>(predicted[example])]},
                        {"score", scores[example]}});
    }
  }
  return errors;
}

void ClassifyObjective::predictions(Kept kept, const WriteLine& write) const {
  constexpr Split kSplit = Split::kHeldOut;
  if (regression_) {
    for (std::size_t i = 0; i < kept.size(); ++i) {
      write({{"value", kept[i]}, {"truth", values_[kSplit][i]}});
    }
    return;
  }
  const std::size_t width = labels_.names().size();
  const std::vector<std::int64_t> predicted = predicted_labels(kept);
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const auto label = static_cast<std::size_t>(predicted[i]);
    write({{"label", labels_.names()[label]},
           {"score", probabilities(kept.subspan(i * width, width))[label]},
           {"truth", labels_.names()[static_cast<std::size_t>(truth_[kSplit][i])]}});
  }
}

std::uint64_t ClassifyObjective::fingerprint() const {
  constexpr Split kSplit = Split::kTraining;
  std::uint64_t print = 0;
  for (const std::int64_t target : truth_[kSplit]) {
    print = random_bits(print, static_cast<std::uint64_t>(target));
  }
  for (const double value : values_[kSplit]) {
    print = random_bits(print, std::bit_cast<std::uint64_t>(value));
  }
  return print;
}

}  // namespace weft::fine_tuning
