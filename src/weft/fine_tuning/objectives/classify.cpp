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

ClassifyObjective::ClassifyObjective(Setup given) : Objective(std::move(given)), regression_(learns_numbers(setup())) {
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
  const auto index = static_cast<std::size_t>(split);
  if (regression_) {
    values_[index].push_back(target_value(record));
  } else {
    truth_[index].push_back(labels_.number(record.labels.front(), record.document.name));
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
  std::vector<std::int64_t>& truth = truth_[static_cast<std::size_t>(Split::kTraining)];
  for (std::int64_t& target : truth) {
    target = ids[static_cast<std::size_t>(target)];
    ++counts[static_cast<std::size_t>(target)];
  }
  if (!truth.empty()) {
    weights_ = label_weights(setup().task.class_weights, counts, static_cast<std::int64_t>(truth.size()), false);
  }
  return choice;
}

at::Tensor ClassifyObjective::loss(const models::EncoderConfig& config, const models::EncoderOutput& output,
                                   const TrainingBatch& batch) const {
  const auto split = static_cast<std::size_t>(Split::kTraining);
  if (regression_) {
    return models::classification_loss(config, output.logits, targets_of(values_[split], batch.examples, at::kFloat));
  }
  return label_loss(output.logits, targets_of(truth_[split], batch.examples, at::kLong),
                    {weights_, setup().label_smoothing});
}

std::int64_t ClassifyObjective::numbers(std::int64_t /*example*/) const {
  return regression_ ? 1 : static_cast<std::int64_t>(labels_.names().size());
}

void ClassifyObjective::keep(const tasks::WindowOutput& output, std::int64_t /*example*/,
                             std::span<double> kept) const {
  keep_logits(output, kept);
}

std::vector<std::int64_t> ClassifyObjective::predicted_labels(Kept kept) const {
  return best_labels(kept, labels_.names().size());
}

Json ClassifyObjective::figures(Kept kept) const {
  const auto split = static_cast<std::size_t>(Split::kHeldOut);
  if (regression_) {
    std::vector<double> squares;
    squares.reserve(kept.size());
    for (std::size_t i = 0; i < kept.size(); ++i) {
      squares.push_back((kept[i] - values_[split][i]) * (kept[i] - values_[split][i]));
    }
    return {{"pearson", formats::or_null(metrics::pearson(values_[split], kept))},
            {"spearman", formats::or_null(metrics::spearman(values_[split], kept))},
            {"mean_squared_error", metrics::mean(squares)}};
  }
  const std::vector<std::int64_t> predicted = predicted_labels(kept);
  const auto classes = metrics::count_classes(truth_[split], predicted);
  Json figures = {{"accuracy", metrics::accuracy(truth_[split], predicted)},
                  {"f1_macro", metrics::average_scores(classes, metrics::Averaging::kMacro).f1},
                  {"f1_micro", metrics::average_scores(classes, metrics::Averaging::kMicro).f1},
                  {"matthews", metrics::matthews_correlation(truth_[split], predicted)},
                  {"loss", mean_cross_entropy(kept, labels_.names().size(), truth_[split])}};
  if (labels_.names().size() == 2) {
    const auto second = std::find_if(classes.begin(), classes.end(), [](const auto& one) { return one.label == 1; });
    const metrics::Scores scores = metrics::class_scores(second == classes.end() ? metrics::Counts{} : second->counts);
    figures.update({{"f1", scores.f1}, {"precision", scores.precision}, {"recall", scores.recall}});
  }
  return figures;
}

Json ClassifyObjective::details(Kept kept) const {
  if (regression_) {
    return Json::object();
  }
  Json labels = Json::array();
  const auto& truth = truth_[static_cast<std::size_t>(Split::kHeldOut)];
  for (const metrics::ClassCounts& one : metrics::count_classes(truth, predicted_labels(kept))) {
    const metrics::Scores scores = metrics::class_scores(one.counts);
    labels.push_back({{"label", labels_.names()[static_cast<std::size_t>(one.label)]},
                      {"precision", scores.precision},
                      {"recall", scores.recall},
                      {"f1", scores.f1},
                      {"support", one.counts.actual}});
  }
  return {{"labels", labels}};
}

Json ClassifyObjective::review(Kept kept) const {
  const auto split = static_cast<std::size_t>(Split::kHeldOut);
  Json errors = Json::array();
  const auto add = [&](std::size_t example, Json error) {
    Json shown = {{"text", row_text(Split::kHeldOut, static_cast<std::int64_t>(example))}};
    shown.update(error);
    errors.push_back(std::move(shown));
  };
  if (regression_) {
    std::vector<double> distances;
    distances.reserve(kept.size());
    for (std::size_t i = 0; i < kept.size(); ++i) {
      distances.push_back(std::abs(kept[i] - values_[split][i]));
    }
    for (const std::size_t example : largest(distances, kMostErrors)) {
      add(example, {{"truth", values_[split][example]}, {"predicted", kept[example]}});
    }
    return {{"errors", errors}};
  }
  const std::vector<std::int64_t> predicted = predicted_labels(kept);
  const std::size_t width = labels_.names().size();
  std::vector<double> scores(predicted.size(), -1.0);  // of wrong labels
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    if (predicted[i] != truth_[split][i]) {
      scores[i] = probabilities(kept.subspan(i * width, width))[static_cast<std::size_t>(predicted[i])];
    }
  }
  for (const std::size_t example : largest(scores, kMostErrors)) {
    if (scores[example] >= 0) {
      add(example, {{"truth", labels_.names()[static_cast<std::size_t>(truth_[split][example])]},
                    {"predicted", labels_.names()[static_cast<std::size_t>(predicted[example])]},
                    {"score", scores[example]}});
    }
  }
  Json review = details(kept);
  review["confusion"] = confusion_json(truth_[split], predicted, labels_.names());
  review["errors"] = std::move(errors);
  return review;
}

void ClassifyObjective::predictions(Kept kept, const WriteLine& write) const {
  const auto split = static_cast<std::size_t>(Split::kHeldOut);
  if (regression_) {
    for (std::size_t i = 0; i < kept.size(); ++i) {
      write({{"value", kept[i]}, {"truth", values_[split][i]}});
    }
    return;
  }
  const std::size_t width = labels_.names().size();
  const std::vector<std::int64_t> predicted = predicted_labels(kept);
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const auto label = static_cast<std::size_t>(predicted[i]);
    write({{"label", labels_.names()[label]},
           {"score", probabilities(kept.subspan(i * width, width))[label]},
           {"truth", labels_.names()[static_cast<std::size_t>(truth_[split][i])]}});
  }
}

std::string ClassifyObjective::doubt(Kept kept) const {
  const auto split = static_cast<std::size_t>(Split::kHeldOut);
  if (regression_) {
    const auto [least, most] = std::minmax_element(kept.begin(), kept.end());
    const auto [low, high] = std::minmax_element(values_[split].begin(), values_[split].end());
    // Float32 tells numbers apart by a part in 10 million of their size.
    const bool one_number = kept.size() > 1 && *most - *least <= 1e-6 * std::max(std::abs(*least), std::abs(*most));
    return one_number && *high > *low ? concat("the model gives ", *least, " for each of the ", kept.size(),
                                               " held-out texts, whose numbers go from ", *low, " to ", *high, kMore)
                                      : std::string();
  }
  const std::vector<std::int64_t> predicted = predicted_labels(kept);
  const std::int64_t others = others_of_one(truth_[split], predicted);
  return others > 0 ? concat("the model predicts ", quote(labels_.names()[static_cast<std::size_t>(predicted.front())]),
                             " for each of the ", predicted.size(), " held-out texts, of which ", others,
                             " have another label", kMore)
                    : std::string();
}

std::uint64_t ClassifyObjective::fingerprint() const {
  const auto split = static_cast<std::size_t>(Split::kTraining);
  std::uint64_t print = 0;
  for (const std::int64_t target : truth_[split]) {
    print = random_bits(print, static_cast<std::uint64_t>(target));
  }
  for (const double value : values_[split]) {
    print = random_bits(print, std::bit_cast<std::uint64_t>(value));
  }
  return print;
}

}  // namespace weft::fine_tuning
