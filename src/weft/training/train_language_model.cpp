// SPDX-License-Identifier: Apache-2.0
// Setting up a run over text, anew or again; and holding a resumed run to the fields it began with.
#include "weft/training/train_language_model.h"

#include <ATen/Context.h>

#include "weft/checkpoint/model_directory.h"
#include "weft/core/error.h"
#include "weft/training/language_model_task.h"
#include "weft/training/processes/process_group.h"
#include "weft/training/resumption.h"
#include "weft/training/run_state.h"

namespace weft::training {
namespace {

using formats::Json;

void check_model(const models::TransformerConfig& stands, Json& given, const std::filesystem::path& where) {
  models::TransformerConfig merged = stands;
  formats::update_from_json(merged, take_fields<models::TransformerConfig>(given), "model");
  check_same(formats::to_json(stands), formats::to_json(merged), {}, where);
}

std::string absolute_path(const std::filesystem::path& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

// A model that is given again must be the one that the run began with.
void check_began_with(const Json& training, Json& given, const std::filesystem::path& where) {
  if (given.contains("model")) {
    const Json stands = {{"model", training.value("model", std::string())}};
    check_same(stands, {{"model", absolute_path(given["model"].get<std::string>())}}, {}, where);
    given.erase("model");
  }
}

// Checked and settled; what can be refused is refused before a model is made.
TrainerConfig ready(const std::filesystem::path& run, const TrainerConfig& given) {
  check_config(given, "training");
  require_train_text(given, "training");
  if (processes().is_first()) {
    RunDirectory::check_free(run);
  }
  return settled(given);
}

}  // namespace

TrainResult train_language_model(const std::filesystem::path& run, const TrainerConfig& given,
                                 const models::TransformerConfig& model_config,
                                 std::shared_ptr<const text::Tokenizer> tokenizer) {
  const TrainerConfig config = ready(run, given);
  // The first weights are drawn from LibTorch's generator; after them every step seeds it anew.
  at::manual_seed(static_cast<std::uint64_t>(config.seed));
  const models::LanguageModel model(model_config);
  return Trainer::start(run, config, std::make_shared<LanguageModelTask>(model, std::move(tokenizer), config)).run();
}

TrainResult train_further(const std::filesystem::path& run, const TrainerConfig& given,
                          const std::filesystem::path& model) {
  const TrainerConfig config = ready(run, given);
  auto task = std::make_shared<LanguageModelTask>(checkpoint::load_model(model), text::load_tokenizer(model), config,
                                                  absolute_path(model));
  return Trainer::start(run, config, std::move(task)).run();
}

TrainResult resume_language_model(const std::filesystem::path& path, const Json& given) {
  RunDirectory run = open_to_resume(path);
  const TrainerConfig stands = config_from_json(run.training(), run.path() / "training.json");
  Json rest = given;
  const TrainerConfig config = resumed_trainer(stands, rest, run.path() / "training.json");
  check_began_with(run.training(), rest, run.path() / "training.json");
  check_model(checkpoint::load_config(run.path()), rest, run.path() / "config.json");
  require(rest.empty(), "no field of training or model is called '", rest.empty() ? "" : rest.begin().key(), "'");
  const Checkpoint checkpoint = checkpoint_to_resume(run);
  const models::LanguageModel model = checkpoint::load_model(checkpoint.path);
  std::shared_ptr<const text::Tokenizer> tokenizer = text::load_tokenizer(checkpoint.path);
  auto task = std::make_shared<LanguageModelTask>(model, std::move(tokenizer), config,
                                                  run.training().value("model", std::string()));
  Trainer trainer = Trainer::resume(std::move(run), config, std::move(task));
  return trainer.run();
}

}  // namespace weft::training
