// SPDX-License-Identifier: Apache-2.0
// Setting up a run over text, anew or again; and holding a resumed run to the fields it began with.
#include "weft/training/train_language_model.h"

#include <ATen/Context.h>

#include "weft/attention/mechanisms/spec.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/checkpoint/patterns/load_with_attention.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/formats/json_members.h"
#include "weft/training/language_model_task.h"
#include "weft/training/processes/process_group.h"
#include "weft/training/resumption.h"
#include "weft/training/run/recorded_path.h"
#include "weft/training/run_state.h"

namespace weft::training {
namespace {

using formats::Json;

void check_model(const models::TransformerConfig& stands, Json& given, const std::filesystem::path& where) {
  models::TransformerConfig merged = stands;
  formats::update_from_json(merged, take_fields<models::TransformerConfig>(given), "model");
  check_same(formats::to_json(stands), formats::to_json(merged), {}, where);
}

// The directory that the run began with; empty where it began anew.
std::string first_model(const Json& training, const std::filesystem::path& where) {
  return formats::value_or(training, "model", quote(where.native(), 4096), std::string());
}

// A model that is given again must be the one that the run began with.
void check_began_with(const Json& training, Json& given, const std::filesystem::path& where) {
  if (given.contains("model")) {
    const Json stands = {{"model", first_model(training, where)}};
    const auto again = formats::value_of<std::string>(given, "model", "training");
    check_same(stands, {{"model", recorded_path(again)}}, {}, where);
    given.erase("model");
  }
}

// Checked and resolved; what can be refused is refused before a model is made.
TextRun ready(const std::filesystem::path& run, const TextRun& given) {
  check_config(given.trainer, "training");
  check_config(given.text, "training");
  check_config(given.distillation, "training");
  if (processes().is_first()) {
    RunDirectory::check_free(run);
  }
  return {resolved(given.trainer), resolved(given.text), resolved(given.distillation)};
}

// How masked bytes are drawn says nothing to a decoder. A run that goes on keeps what it began with.
void check_masking(const TextConfig& text, const models::TransformerConfig& model) {
  const TextConfig usual;
  require(!model.is_decoder || (text.mask_probability == usual.mask_probability && text.masking == usual.masking),
          option("mask_probability"), " and ", option("masking"), " are for encoders, which ", option("task"),
          " mlm trains; this model is a decoder");
}

// A window of text names no positions, so that `global(input)` would be no edge at all.
void check_bound(const models::TransformerConfig& model) {
  for (std::int64_t layer = 0; layer < model.num_hidden_layers; ++layer) {
    const std::string& expression = model.attention_of(layer);
    if (attention::parse_mechanism(expression, model.directory).needs_input) {
      throw Error(ErrorKind::kArgument,
                  concat(option("attention"), " of layer ", layer, ": `", expression,
                         "` names `input`, for which training on plain text has no positions"),
                  "name positions: global(first=1) is the first token of each window");
    }
  }
}

// Before the text is read, which may take long; null where the run has no teacher.
std::shared_ptr<VocabularyTeacher> open_teacher(const TextRun& run, const models::TransformerConfig& student,
                                                const text::Tokenizer& tokenizer) {
  if (!distills(run.distillation)) {
    return nullptr;
  }
  check_student(student);
  return std::make_shared<VocabularyTeacher>(
      run.distillation,
      VocabularyStudent{tokenizer, student.vocab_size, student.is_decoder, run.text.context, student.output_size()});
}

std::shared_ptr<Task> make_task(const models::LanguageModel& model, std::shared_ptr<const text::Tokenizer> tokenizer,
                                const TextRun& run, const std::string& began_with) {
  const std::shared_ptr<VocabularyTeacher> teacher = open_teacher(run, model->config(), *tokenizer);
  auto task = std::make_shared<LanguageModelTask>(model, std::move(tokenizer), run.trainer, run.text, began_with);
  task->learn_from(teacher, run.distillation);
  return task;
}

}  // namespace

TrainResult train_language_model(const std::filesystem::path& run, const TextRun& given,
                                 const models::TransformerConfig& model_config,
                                 std::shared_ptr<const text::Tokenizer> tokenizer) {
  const TextRun made = ready(run, given);
  check_masking(made.text, model_config);
  check_bound(model_config);
  // The first weights are drawn from LibTorch's generator; after them every step seeds it anew.
  at::manual_seed(static_cast<std::uint64_t>(made.trainer.seed));
  const models::LanguageModel model(model_config);
  return Trainer::start(run, made.trainer, make_task(model, std::move(tokenizer), made, {})).run();
}

TrainResult train_further(const std::filesystem::path& run, const TextRun& given, const checkpoint::OpenedModel& model,
                          const FirstPatterns& patterns) {
  model.need_floating("training");
  const TextRun made = ready(run, given);
  const models::LanguageModel loaded =
      patterns.attention.empty() ? checkpoint::load_model(model)
                                 : checkpoint::load_with_attention(model, patterns.attention, patterns.directory);
  check_masking(made.text, loaded->config());
  check_bound(loaded->config());
  auto task = make_task(loaded, text::load_tokenizer(model.path(), model.json()), made, recorded_path(model.root()));
  return Trainer::start(run, made.trainer, std::move(task)).run();
}

TrainResult resume_language_model(const std::filesystem::path& path, const Json& given) {
  RunDirectory run = open_to_resume(path);
  const std::filesystem::path where = run.path() / "training.json";
  Json rest = given;
  TextRun made;
  made.trainer = resumed_trainer(config_from_json(run.training(), where), rest, where);
  made.text = resumed_text(run.training(), rest, where);
  made.distillation = resumed_distillation(run.training(), rest, where);
  check_began_with(run.training(), rest, where);
  check_model(checkpoint::load_config(run.path()), rest, run.path() / "config.json");
  require(rest.empty(), "no field of training or model is called '", rest.empty() ? "" : rest.begin().key(), "'");
  const Checkpoint checkpoint = checkpoint_to_resume(run);
  const models::LanguageModel model = checkpoint::load_model(checkpoint.path);
  auto task = make_task(model, text::load_tokenizer(checkpoint.path), made, first_model(run.training(), where));
  return Trainer::resume(std::move(run), made.trainer, std::move(task)).run();
}

}  // namespace weft::training
