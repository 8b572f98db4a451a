// SPDX-License-Identifier: Apache-2.0
// The labels of a row are kept as a short list: of hundreds, few apply.
#include "weft/fine_tuning/objectives/multilabel.h"

#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/random.h"
#include "weft/core/system/option_name.h"
#include "weft/fine_tuning/label_logits.h"
#include "weft/fine_tuning/objectives/label_groups.h"
#include "weft/fine_tuning/review.h"
#include "weft/fine_tuning/text_records.h"
#include "weft/metrics/classification.h"
#include "weft/metrics/sums.h"
#include "weft/models/heads/task_loss.h"
#include "weft/readers/genomes/reverse_complement.h"
#include "weft/tasks/decode/scores.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

// log(1 + exp(-x)) for a label that applies, log(1 + exp(x)) for one that does not, without overflow.
double binary_loss(double logit, bool applies) {
  const double x = applies ? -logit : logit;
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

// log(exp(a) + exp(b)).
double log_of_sum(double a, double b) { return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b))); }

// The logit of the mean of two probabilities, so that what follows knows of one strand alone.
double logit_of_mean(double one, double other) {
  return log_of_sum(-binary_loss(one, true), -binary_loss(other, true)) -
         log_of_sum(-binary_loss(one, false), -binary_loss(other, false));
}

}  // namespace

MultilabelObjective::MultilabelObjective(Setup given)
    : Objective(std::move(given), models::Head::kSequenceClassification),
      group_names_(read_label_groups(setup().data.label_groups)),
      strands_(setup().data.both_strands ? 2 : 1) {
  require(setup().label_smoothing == 0.0,
          "label_smoothing is for one label of several; in multilabel a text has any number of labels");
  require(setup().task.problem_type == "auto", "problem_type is for ", option("task"),
          " classify; that of multilabel is fixed");
  require(strands_ == 1 || setup().data.pair_field.empty(),
          "both_strands is for one sequence an example; leave out pair_field");
}

ReadSummary MultilabelObjective::read_files(Split split, const std::vector<std::string>& paths) {
  ReadSummary summary;
  summary.records = read_text_records(paths, setup().data, LabelCount::kSeveral, [&](const TextRecord& record) {
    take(split, [&] {
      std::vector<tasks::Document> strands = {record.document};
      if (strands_ == 2) {
        const std::string& name = record.document.name;
        strands.push_back({readers::reverse_complement(record.document.first, name), {}, name + ", the other strand"});
      }
      add_rows(split, strands, summary, strands.size());
      add_labels(split, record);
      keep_origin(split, [&] { return origin_of(record); });
    });
  });
  return summary;
}

void MultilabelObjective::add_labels(Split split, const TextRecord& record) {
  std::vector<std::int64_t> positive;
  positive.reserve(record.labels.size());
  for (const std::string& name : record.labels) {
    positive.push_back(labels_.number(name, record.document.name));
  }
  for (const std::string& name : record.absent) {
    labels_.number(name, record.document.name);
  }
  std::sort(positive.begin(), positive.end());
  positive.erase(std::unique(positive.begin(), positive.end()), positive.end());
  positives_[split].push_back(std::move(positive));
}

HeadChoice MultilabelObjective::choose_head() {
  HeadChoice choice = labels_.choose_head(setup().config, head());
  if (choice.labels.empty()) {
    fail(ErrorKind::kFormat, labels_place(), ": there is no label");
  }
  choice.problem_type = "multi_label_classification";
  const std::vector<std::int64_t> ids = labels_.fix_order(choice.labels);
  std::vector<std::int64_t> counts(choice.labels.size(), 0);
  for (std::vector<std::int64_t>& row : positives_[Split::kTraining]) {
    for (std::int64_t& label : row) {
      label = ids[static_cast<std::size_t>(label)];
      ++counts[static_cast<std::size_t>(label)];
    }
    std::sort(row.begin(), row.end());
  }
  const auto examples = static_cast<std::int64_t>(positives_[Split::kTraining].size());
  if (examples > 0) {
    weights_ = label_weights(setup().task.class_weights, counts, examples, true);
  }
  groups_ = find_label_groups(group_names_, labels_);
  return choice;
}

at::Tensor MultilabelObjective::loss(const models::EncoderOutput& output, const TrainingBatch& batch) const {
  const std::int64_t rows = std::ssize(batch.examples) * strands_;
  const at::Tensor logits = output.logits.reshape({rows, width()});
  const at::Tensor targets = at::zeros({rows, width()}, at::kFloat);
  auto* values = targets.data_ptr<float>();
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t example = batch.examples[static_cast<std::size_t>(row / strands_)];
    for (const std::int64_t label : positives_[Split::kTraining][static_cast<std::size_t>(example)]) {
      values[row * width() + label] = 1.0F;
    }
  }
  if (!weights_.defined()) {
    return models::multi_label_loss(logits, targets);
  }
  return at::binary_cross_entropy_with_logits(logits.to(at::kFloat), targets, {}, weights_, at::Reduction::Mean);
}

// The logits of an example's strands stand side by side, so that a row of the output is an example.
models::EncoderOutput MultilabelObjective::run(models::EncoderModelImpl& model,
                                               const models::EncoderInput& input) const {
  models::EncoderOutput output = model.forward(input);
  output.logits = output.logits.reshape({-1, strands_ * width()});
  return output;
}

Objective::RowRange MultilabelObjective::row_range(Split /*split*/, std::int64_t example) const {
  return {example * strands_, (example + 1) * strands_};
}

std::int64_t MultilabelObjective::examples(Split split) const { return rows(split).size() / strands_; }

void MultilabelObjective::keep(const tasks::WindowOutput& output, std::int64_t /*example*/,
                               std::span<double> numbers) const {
  if (strands_ == 1) {
    keep_logits(output, numbers);
    return;
  }
  std::vector<double> both(2 * numbers.size());
  keep_logits(output, both);
  for (std::size_t label = 0; label < numbers.size(); ++label) {
    numbers[label] = logit_of_mean(both[label], both[numbers.size() + label]);
  }
}

// Each label is a choice between it and nothing: softmax(x, 0) = sigmoid(x).
std::vector<at::Tensor> MultilabelObjective::choices(const models::EncoderOutput& output,
                                                     const TrainingBatch& /*batch*/) const {
  const at::Tensor logits = output.logits.flatten();
  return {at::stack({logits, at::zeros_like(logits)}, 1)};
}

std::int64_t MultilabelObjective::numbers(std::int64_t /*example*/) const { return width(); }

std::vector<std::uint8_t> MultilabelObjective::truth_matrix() const {
  const std::vector<std::vector<std::int64_t>>& held = positives_[Split::kHeldOut];
  std::vector<std::uint8_t> truth(held.size() * static_cast<std::size_t>(width()), 0);
  for (std::size_t row = 0; row < held.size(); ++row) {
    for (const std::int64_t label : held[row]) {
      truth[row * static_cast<std::size_t>(width()) + static_cast<std::size_t>(label)] = 1;
    }
  }
  return truth;
}

std::vector<std::uint8_t> MultilabelObjective::predicted_matrix(Kept kept) const {
  std::vector<std::uint8_t> predicted(kept.size());
  std::transform(kept.begin(), kept.end(), predicted.begin(), [](double logit) { return logit > 0.0 ? 1 : 0; });
  return predicted;
}

double MultilabelObjective::mean_loss(Kept kept, std::span<const std::uint8_t> truth) const {
  std::vector<double> losses(kept.size());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    losses[i] = binary_loss(kept[i], truth[i] != 0);
  }
  return metrics::mean(losses);
}

Json MultilabelObjective::figures(Kept kept) const {
  const std::vector<std::uint8_t> truth = truth_matrix();
  const std::vector<std::uint8_t> predicted = predicted_matrix(kept);
  const auto counts = metrics::count_labels(truth, predicted, width());
  const auto labels = static_cast<std::size_t>(width());
  const std::size_t rows = truth.size() / labels;
  std::int64_t exact = 0;
  for (std::size_t begin = 0; begin < truth.size(); begin += labels) {
    const auto row = truth.begin() + static_cast<std::ptrdiff_t>(begin);
    exact += std::equal(row, row + width(), predicted.begin() + static_cast<std::ptrdiff_t>(begin)) ? 1 : 0;
  }
  std::vector<std::int64_t> all(labels);
  std::iota(all.begin(), all.end(), 0);
  std::vector<metrics::LabelGroup> groups = {{"", all}};
  groups.insert(groups.end(), groups_.begin(), groups_.end());
  Json figures = {{"f1_micro", metrics::average_scores(counts, metrics::Averaging::kMicro).f1},
                  {"f1_macro", metrics::average_scores(counts, metrics::Averaging::kMacro).f1},
                  {"exact_match", static_cast<double>(exact) / static_cast<double>(rows)},
                  {"loss", mean_loss(kept, truth)}};
  for (const metrics::GroupAuc& group : metrics::grouped_roc_auc(truth, kept, width(), groups)) {
    const std::string name = group.name.empty() ? "" : "_" + group.name;
    figures["roc_auc" + name] = formats::or_null(group.mean);
    figures["roc_auc_median" + name] = formats::or_null(group.median);
  }
  return figures;
}

Findings MultilabelObjective::findings(Kept kept) const {
  const std::vector<std::uint8_t> truth = truth_matrix();
  std::vector<metrics::LabelGroup> single;
  single.reserve(labels_.names().size());
  for (std::int64_t label = 0; label < width(); ++label) {
    single.push_back({labels_.names()[static_cast<std::size_t>(label)], {label}});
  }
  const auto counts = metrics::count_labels(truth, predicted_matrix(kept), width());
  const auto areas = metrics::grouped_roc_auc(truth, kept, width(), single);
  Json labels = Json::array();
  for (std::size_t label = 0; label < areas.size(); ++label) {
    labels.push_back({{"label", areas[label].name},
                      {"roc_auc", formats::or_null(areas[label].mean)},
                      {"f1", metrics::class_scores(counts[label].counts).f1},
                      {"support", counts[label].counts.actual}});
  }
  Findings found;
  found.details["labels"] = std::move(labels);
  if (!groups_.empty()) {
    found.details["groups"] = group_details(truth, kept);
  }
  if (const OneClassLabels left_out = one_class_labels(truth, labels_.names()); !left_out.empty()) {
    found.details["without_roc_auc"] = {{"no_example", left_out.never}, {"every_example", left_out.always}};
    found.note = left_out_text(left_out, labels_.names().size());
  }
  found.doubt = doubt(kept);
  return found;
}

Json MultilabelObjective::group_details(std::span<const std::uint8_t> truth, Kept kept) const {
  Json details = Json::array();
  for (const metrics::GroupAuc& group : metrics::grouped_roc_auc(truth, kept, width(), groups_)) {
    details.push_back({{"group", group.name},
                       {"roc_auc", formats::or_null(group.mean)},
                       {"roc_auc_median", formats::or_null(group.median)},
                       {"labels", group.labels},
                       {"without_roc_auc", group.undefined}});
  }
  return details;
}

std::vector<std::pair<std::string, std::string>> MultilabelObjective::remarks() const {
  std::vector<std::pair<std::string, std::string>> found;
  if (strands_ == 2) {
    found.emplace_back("strands", "each sequence is read on both; a score is the mean of two probabilities");
  }
  const std::vector<std::uint8_t> truth = truth_matrix();
  if (const std::string text = left_out_text(one_class_labels(truth, labels_.names()), labels_.names().size());
      !truth.empty() && !text.empty()) {
    found.emplace_back("held-out labels", text);
  }
  return found;
}

Json MultilabelObjective::errors(Kept kept) const {
  const std::vector<std::uint8_t> predicted = predicted_matrix(kept);
  const std::vector<std::uint8_t> truth = truth_matrix();
  const auto labels = static_cast<std::size_t>(width());
  const auto names_in = [&](const std::vector<std::uint8_t>& matrix, std::size_t row) {
    std::string names;
    for (std::size_t label = 0; label < labels; ++label) {
      if (matrix[row * labels + label] != 0) {
        names += (names.empty() ? "" : ", ") + labels_.names()[label];
      }
    }
    return shortened(names);
  };
  Json errors = Json::array();
  for (std::size_t row = 0; row < positives_[Split::kHeldOut].size() && errors.size() < kMostErrors; ++row) {
    const auto begin = static_cast<std::ptrdiff_t>(row * labels);
    if (!std::equal(truth.begin() + begin, truth.begin() + begin + width(), predicted.begin() + begin)) {
      errors.push_back({{"text", row_text(Split::kHeldOut, static_cast<std::int64_t>(row) * strands_)},
                        {"truth", names_in(truth, row)},
                        {"predicted", names_in(predicted, row)}});
    }
  }
  return errors;
}

void MultilabelObjective::predictions(Kept kept, const WriteLine& write) const {
  const auto labels = static_cast<std::size_t>(width());
  for (std::size_t row = 0; row < positives_[Split::kHeldOut].size(); ++row) {
    const auto logits = kept.subspan(row * labels, labels);
    Json scores = Json::array();
    Json found = Json::array();
    Json truth = Json::array();
    for (std::size_t label = 0; label < labels; ++label) {
      scores.push_back(tasks::sigmoid(logits[label]));
      if (logits[label] > 0.0) {
        found.push_back(labels_.names()[label]);
      }
    }
    for (const std::int64_t label : positives_[Split::kHeldOut][row]) {
      truth.push_back(labels_.names()[static_cast<std::size_t>(label)]);
    }
    write({{"labels", found}, {"scores", scores}, {"truth", truth}});
  }
}

std::string MultilabelObjective::doubt(Kept kept) const {
  const std::vector<std::uint8_t> truth = truth_matrix();
  const std::vector<std::uint8_t> predicted = predicted_matrix(kept);
  const auto labels = static_cast<std::ptrdiff_t>(width());
  // Whether every row is the first one.
  const auto is_one = [labels](const std::vector<std::uint8_t>& rows) {
    return std::equal(rows.begin() + labels, rows.end(), rows.begin());
  };
  const std::size_t rows = positives_[Split::kHeldOut].size();
  if (rows < 2 || is_one(truth) || !is_one(predicted)) {
    return {};
  }
  std::string names;
  for (std::size_t label = 0; label < labels_.names().size(); ++label) {
    names += predicted[label] == 0 ? "" : concat(names.empty() ? "" : ", ", quote(labels_.names()[label]));
  }
  return concat("the model predicts ", names.empty() ? "no label at all" : "the same labels, " + names + ",",
                " for each of the ", rows, " held-out texts, whose labels differ", kMore);
}

std::uint64_t MultilabelObjective::fingerprint() const {
  std::uint64_t print = 0;
  for (const std::vector<std::int64_t>& row : positives_[Split::kTraining]) {
    print = random_bits(print, row.size());
    for (const std::int64_t label : row) {
      print = random_bits(print, static_cast<std::uint64_t>(label));
    }
  }
  return print;
}

}  // namespace weft::fine_tuning
