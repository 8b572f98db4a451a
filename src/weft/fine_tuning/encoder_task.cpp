// SPDX-License-Identifier: Apache-2.0
// Everything random is a function of seed, step and part.
#include "weft/fine_tuning/encoder_task.h"

#include <algorithm>

#include "weft/attention/devices/placed.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/random.h"
#include "weft/core/system/process_rank.h"
#include "weft/fine_tuning/mini_batches.h"
#include "weft/fine_tuning/scoring.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/heads/model_scorer.h"
#include "weft/training/task.h"
#include "weft/training/text_task.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

// "tune" in ASCII: dropout's seeds are independent of the data's order.
constexpr std::uint64_t kDropoutStream = 0x74756E65;

Json identity_of(const Objective& objective) {
  const EncodedRows& rows = objective.rows(Split::kTraining);
  const std::uint64_t print = random_bits(rows.fingerprint(), objective.fingerprint());
  return {{"rows", rows.size()}, {"tokens", rows.tokens()}, {"fingerprint", training::fingerprint_text(print)}};
}

data::LengthBatches length_batches(const Objective& objective, const RunSettings& settings) {
  const std::int64_t examples = objective.examples(Split::kTraining);
  if (examples == 0) {
    fail(ErrorKind::kFormat, "train_data: ", quoted_list(settings.task.train_data, 3), " has no example");
  }
  std::vector<std::int32_t> lengths;
  lengths.reserve(static_cast<std::size_t>(examples));
  for (std::int64_t example = 0; example < examples; ++example) {
    lengths.push_back(static_cast<std::int32_t>(objective.length(Split::kTraining, example)));
  }
  data::LengthBatchOptions options;
  options.seed = static_cast<std::uint64_t>(settings.trainer.seed);
  if (objective.compares_examples()) {
    const bool alone = settings.task.batch_tokens == 0 && settings.trainer.batch_size < 2;
    require(examples > 1 && !alone,
            "the loss compares the examples of a batch with each other, and needs at least 2: ", [&] {
              return examples == 1 ? concat("train_data: ", quoted_list(settings.task.train_data, 3), " has 1")
                                   : concat("batch_size is ", settings.trainer.batch_size);
            });
    options.pool = 0;
    options.least = 2;
  }
  options.tokens = settings.task.batch_tokens;
  if (options.tokens == 0) {  // examples are counted: the budget is what so many of the longest need
    options.rows = settings.trainer.batch_size;
    options.tokens = options.rows * *std::max_element(lengths.begin(), lengths.end());
  }
  return {std::move(lengths), options};
}

}  // namespace

EncoderTask::EncoderTask(std::shared_ptr<Objective> objective, models::EncoderModel model, const RunSettings& settings)
    : objective_(std::move(objective)),
      model_(std::move(model)),
      settings_(settings),
      padding_{model_->config().pad_token_id, objective_->setup().model.type_ids},
      batches_(length_batches(*objective_, settings)),
      identity_(identity_of(*objective_)) {
  model_->set_gradient_checkpointing(settings.task.gradient_checkpointing);
  subwords_ = training::subword_sampler(settings.trainer, *objective_->setup().model.tokenizer);
}

std::int64_t EncoderTask::steps_of(std::int64_t epochs) {
  const std::int64_t parts = parts_per_step(settings_.trainer);
  return (batches_.first_batch(epochs) + parts - 1) / parts;
}

void EncoderTask::move_to(c10::Device device) {
  model_->to(device);
  objective_->move_to(device);
  if (teacher_) {
    teacher_->move_to(device);
  }
}

std::vector<std::pair<std::string, at::Tensor>> EncoderTask::parameters() const {
  std::vector<std::pair<std::string, at::Tensor>> leaves = trained_leaves(*model_);
  for (auto& own : objective_->parameters()) {
    leaves.push_back(std::move(own));
  }
  return leaves;
}

const std::vector<std::int64_t>& EncoderTask::examples(std::int64_t step, std::int64_t part) {
  return batches_.batch(step * parts_per_step(settings_.trainer) + part);
}

// The examples of a batch and, returned, their rows as this step shows them.
std::vector<TokenRow> EncoderTask::show(TrainingBatch& batch, std::int64_t step, std::int64_t part) {
  batch.examples = examples(step, part);
  std::vector<TokenRow> rows = objective_->token_rows(Split::kTraining, batch.examples);
  const auto seed = static_cast<std::uint64_t>(settings_.trainer.seed);
  if (subwords_) {
    batch.drawn = draw_anew(rows, *subwords_, {seed, step, part}, objective_->setup().model.maximum);
  }
  return rows;
}

at::Tensor EncoderTask::loss_of_rows(std::int64_t step, std::int64_t part) {
  TrainingBatch shown;
  const std::vector<TokenRow> rows = show(shown, step, part);
  MiniBatchOptions options;
  options.padding = padding_;
  options.tokens = objective_->tokens_at_once();
  options.seed = training::dropout_seed(settings_.trainer, kDropoutStream, step, part);
  models::EncoderOutput output;
  output.logits = attention::placed(run_in_mini_batches(*objective_, model_, rows, options), at::kCPU);
  return objective_->loss(output, shown);
}

at::Tensor EncoderTask::loss(std::int64_t step, std::int64_t part) {
  if (objective_->tokens_at_once() > 0) {
    return loss_of_rows(step, part);
  }
  TrainingBatch shown;
  const std::vector<TokenRow> rows = show(shown, step, part);
  shown.input = objective_->input(rows, padding_);
  shown.input.seed = training::dropout_seed(settings_.trainer, kDropoutStream, step, part);
  const bool needs_hidden = teacher_ && teacher_->needs_hidden();
  const models::EncoderOutput output = models::placed(
      needs_hidden ? models::forward_with_hidden(*model_, shown.input) : objective_->run(*model_, shown.input),
      at::kCPU);
  const at::Tensor loss = objective_->loss(output, shown);
  return teacher_ ? teacher_->loss(loss, output, *objective_, shown) : loss;
}

std::int64_t EncoderTask::tokens(std::int64_t step, std::int64_t part) {
  std::int64_t count = 0;
  for (const std::int64_t example : examples(step, part)) {
    const Objective::RowRange range = objective_->row_range(Split::kTraining, example);
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      count += objective_->rows(Split::kTraining).length(row);
    }
  }
  return count;
}

Json EncoderTask::evaluate(const std::function<void(std::int64_t, std::int64_t)>& progress) {
  if (objective_->examples(Split::kHeldOut) == 0) {
    return Json::object();
  }
  ScoringOptions options;
  options.padding = padding_;
  options.dtype = settings_.trainer.dtype;
  options.progress = progress;
  const std::vector<double> kept = score_examples(*objective_, model_, options);
  if (is_first_process()) {
    Findings found = objective_->findings(kept);
    doubt_ = std::move(found.doubt);
    review_ = objective_->review(std::move(found), kept);
  }
  return objective_->figures(kept);
}

// The figures of a model that says 0 to everything have the names of all others.
std::optional<std::vector<std::string>> EncoderTask::figure_names() {
  std::int64_t numbers = 0;
  for (std::int64_t example = 0; example < objective_->examples(Split::kHeldOut); ++example) {
    numbers += objective_->numbers(example);
  }
  std::vector<std::string> names;
  if (numbers > 0) {
    const Json figures = objective_->figures(std::vector<double>(static_cast<std::size_t>(numbers)));
    for (const auto& [name, value] : figures.items()) {
      names.push_back(name);
    }
  }
  return names;
}

Json EncoderTask::settings() const {
  Json json = formats::to_json(settings_.task);
  json.update(formats::to_json(settings_.data));
  json.update(training::distillation_json(settings_.distillation));
  if (is_retrieval_task(settings_.task.task)) {
    json.update(formats::to_json(settings_.retrieval));
  }
  return json;
}

void EncoderTask::save(const std::filesystem::path& directory) const {
  objective_->setup().model.tokenizer->save(directory);
  checkpoint::save_encoder(directory, model_);
  objective_->save(directory);
}

void EncoderTask::load(const std::filesystem::path& directory) {
  checkpoint::EncoderLoadOptions options;
  options.head = model_->head();
  training::copy_leaves(*checkpoint::load_encoder(directory, options), *model_);
  objective_->load(directory);
}

std::vector<std::pair<std::string, at::Tensor>> trained_leaves(const models::EncoderModelImpl& model) {
  std::vector<std::pair<std::string, at::Tensor>> result = training::leaves_of(model);
  if (!models::reads_pooler(models::head_plan(model.config(), model.head()), model.head())) {
    std::erase_if(result, [](const auto& leaf) { return leaf.first.starts_with("head.pooler"); });
  }
  return result;
}

}  // namespace weft::fine_tuning
