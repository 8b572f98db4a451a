// SPDX-License-Identifier: Apache-2.0
// What the directory holds decides who trains it.
#include "weft/cli/fine_tuning/train_text.h"

#include <iostream>
#include <utility>
#include <vector>

#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/cli/failure.h"
#include "weft/cli/field_flags.h"
#include "weft/cli/output.h"
#include "weft/cli/training/announcement.h"
#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/fine_tuning/masked_text/masked_text_run.h"
#include "weft/training/processes/process_group.h"
#include "weft/training/resumption.h"
#include "weft/training/train_language_model.h"

namespace weft::cli {
namespace {

using formats::Json;

void announce_text(const fine_tuning::PreparedText& prepared, std::int64_t threads) {
  if (!training::processes().is_first()) {
    return;
  }
  Rows rows = {{"task", prepared.config.task},
               {"model", concat(prepared.task->model()->config().model_type, ", ", parameters_text(*prepared.task),
                                ", ", prepared.config.model)}};
  if (!prepared.new_tensors.empty()) {
    rows.emplace_back("random", joined(prepared.new_tensors, ", "));
  }
  add_machine_rows(prepared.trainer, threads, rows);
  add_text_rows(prepared.trainer, rows);
  std::cerr << name_table(rows) << std::flush;
}

void require_task(const std::string& task, const std::string& model, const std::string& fits) {
  if (task != fits) {
    throw UsageError(concat("--task is ", task, ", but the model of ", quote(model, 4096), " learns ", fits),
                     "--task " + fits);
  }
}

training::TrainResult train_own(const std::string& task, const std::string& out, const Json& fields,
                                std::int64_t threads) {
  const auto model = fields.at("model").get<std::string>();
  const models::TransformerConfig config = checkpoint::load_config(model);
  require_task(task, model, config.is_decoder ? "lm" : "mlm");
  for (const char* field : {"attention", "gradient_checkpointing"}) {
    if (fields.contains(field)) {
      throw UsageError(concat(flag_name(field), " is for encoders of Hugging Face's and for models that begin anew"),
                       "the directory of --model decides it");
    }
  }
  Json all = fine_tuning::further_training_defaults();
  all.update(fields);
  all.erase("model");
  all.erase("task");
  training::TrainerConfig trainer;
  trainer.context = config.max_position_embeddings;
  formats::update_from_json(trainer, all, "weft train");
  training::check_config(trainer, "weft train");
  training::require_train_text(trainer, "weft train");
  if (training::processes().is_first()) {
    training::RunDirectory::check_free(out);
    announce(trainer, config, threads);
  }
  return training::train_further(out, trainer, model);
}

}  // namespace

training::TrainResult train_text_further(const std::string& task, const std::string& out, const Json& fields,
                                         std::int64_t threads) {
  const auto model = fields.at("model").get<std::string>();
  if (!checkpoint::is_encoder_directory(model)) {
    return train_own(task, out, fields, threads);
  }
  require_task(task, model, "mlm");
  if (training::processes().is_first()) {
    training::RunDirectory::check_free(out);
  }
  const fine_tuning::PreparedText prepared = fine_tuning::prepare_masked_text(fields, "weft train");
  announce_text(prepared, threads);
  return fine_tuning::train_masked_text(out, prepared);
}

training::TrainResult resume_text(const std::string& out, const Json& fields, std::int64_t threads) {
  const fine_tuning::PreparedText prepared = fine_tuning::prepare_masked_text_resumption(out, fields);
  announce_text(prepared, threads);
  return fine_tuning::resume_masked_text(out, prepared);
}

}  // namespace weft::cli
