// SPDX-License-Identifier: Apache-2.0
// Every example has the same number of choices, so that a batch is one tensor.
#include "weft/fine_tuning/objectives/choose.h"

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/random.h"
#include "weft/fine_tuning/cross_entropy.h"
#include "weft/fine_tuning/record_reading.h"
#include "weft/metrics/classification.h"
#include "weft/metrics/sums.h"
#include "weft/readers/file_list.h"
#include "weft/readers/json_lines_reader.h"
#include "weft/tasks/decode/scores.h"
#include "weft/tasks/task_run.h"

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
  question.prompt = readers::string_field(record.object, "prompt", place);
  const auto choices = record.object.find("choices");
  if (choices == record.object.end() || !choices->is_array() || choices->size() < 2) {
    readers::malformed(place, ": \"choices\" must be a list of at least two texts");
  }
  for (const Json& choice : *choices) {
    if (!choice.is_string()) {
      readers::malformed(place, ": a choice must be a string, found ", choice.type_name());
    }
    question.choices.push_back(choice.get<std::string>());
  }
  const auto label = record.object.find("label");
  const bool fits = label != record.object.end() && label->is_number_integer() && *label >= 0 &&
                    *label < static_cast<std::int64_t>(question.choices.size());
  if (!fits) {
    readers::malformed(place, ": \"label\" must be the number of the right choice, 0 to ", question.choices.size() - 1);
  }
  question.label = label->get<std::int64_t>();
  return question;
}

}  // namespace

ChooseObjective::ChooseObjective(Setup given) : Objective(std::move(given)) {
  require(setup().task.class_weights.empty(), "class_weights are for labels, and a choice has none");
}

ReadSummary ChooseObjective::read_files(Split split, const std::vector<std::string>& paths) {
  ReadSummary summary;
  const readers::ReadOptions options{.skip_malformed = setup().data.on_error == "skip"};
  for (const std::filesystem::path& file : readers::list_files(paths)) {
    readers::JsonLinesReader reader(file, options);
    const auto visit = [&](const readers::JsonRecord& record) {
      if (!takes(split)) {
        return;
      }
      const std::string place = concat(quote(file.native(), 4096), " line ", record.line);
      const Puzzle question = puzzle_of(record, place);
      const auto count = static_cast<std::int64_t>(question.choices.size());
      choices_ = choices_ == 0 ? count : choices_;
      if (count != choices_) {
        readers::malformed(place, ": ", count, " choices, but the examples before have ", choices_);
      }
      for (const std::string& choice : question.choices) {
        add_row(split, {question.prompt, choice, place}, summary);
      }
      truth_[static_cast<std::size_t>(split)].push_back(question.label);
    };
    read_records(reader, options, visit, summary.records);
  }
  return summary;
}

HeadPlan ChooseObjective::settle() {
  const models::EncoderConfig& config = setup().config;
  return {{}, {}, config.architectures.empty() || config.head() != head()};
}

at::Tensor ChooseObjective::loss(models::EncoderModel& model, const models::EncoderInput& input,
                                 std::span<const std::int64_t> examples) const {
  std::vector<std::int64_t> labels;
  for (const std::int64_t example : examples) {
    labels.push_back(truth_[static_cast<std::size_t>(Split::kTraining)][static_cast<std::size_t>(example)]);
  }
  const at::Tensor targets = at::tensor(labels, at::kLong);
  if (setup().label_smoothing == 0.0) {
    return model->loss(input, {targets, {}, {}});
  }
  return at::cross_entropy_loss(model->forward(input).logits.to(at::kFloat), targets, {}, at::Reduction::Mean, -100,
                                setup().label_smoothing);
}

std::int64_t ChooseObjective::numbers(std::int64_t /*example*/) const { return choices_; }

void ChooseObjective::keep(const tasks::WindowOutput& output, std::int64_t /*example*/, std::span<double> kept) const {
  const std::span<const float> logits = tasks::numbers(output.logits);
  tasks::require_finite(logits);
  std::copy(logits.begin(), logits.end(), kept.begin());
}

std::vector<std::int64_t> ChooseObjective::chosen(Kept kept) const {
  std::vector<std::int64_t> all;
  const auto width = static_cast<std::size_t>(choices_);
  for (std::size_t begin = 0; begin < kept.size(); begin += width) {
    const auto row = kept.subspan(begin, width);
    all.push_back(std::max_element(row.begin(), row.end()) - row.begin());
  }
  return all;
}

Json ChooseObjective::figures(Kept kept) const {
  const std::vector<std::int64_t>& truth = truth_[static_cast<std::size_t>(Split::kHeldOut)];
  const auto width = static_cast<std::size_t>(choices_);
  std::vector<double> nats;
  nats.reserve(truth.size());
  for (std::size_t i = 0; i < truth.size(); ++i) {
    nats.push_back(cross_entropy_of(kept.subspan(i * width, width), truth[i]));
  }
  return {{"accuracy", metrics::accuracy(truth, chosen(kept))}, {"loss", metrics::mean(nats)}};
}

void ChooseObjective::predictions(Kept kept, const WriteLine& write) const {
  const std::vector<std::int64_t>& truth = truth_[static_cast<std::size_t>(Split::kHeldOut)];
  const std::vector<std::int64_t> all = chosen(kept);
  const auto width = static_cast<std::size_t>(choices_);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const auto row = kept.subspan(i * width, width);
    const std::vector<float> logits(row.begin(), row.end());
    write({{"index", all[i]}, {"scores", tasks::softmax(logits)}, {"truth", truth[i]}});
  }
}

std::uint64_t ChooseObjective::fingerprint() const {
  std::uint64_t print = static_cast<std::uint64_t>(choices_);
  for (const std::int64_t label : truth_[static_cast<std::size_t>(Split::kTraining)]) {
    print = random_bits(print, static_cast<std::uint64_t>(label));
  }
  return print;
}

}  // namespace weft::fine_tuning
