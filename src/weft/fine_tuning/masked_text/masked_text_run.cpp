// SPDX-License-Identifier: Apache-2.0
// Model, tokeniser and text put together in one order, for a new run and an old one.
#include "weft/fine_tuning/masked_text/masked_text_run.h"

#include <utility>

#include "weft/checkpoint/encoder_directory.h"
#include "weft/core/error.h"
#include "weft/fine_tuning/settings.h"
#include "weft/formats/json_members.h"
#include "weft/training/resumption.h"
#include "weft/training/run_state.h"
#include "weft/training/train_language_model.h"

namespace weft::fine_tuning {
namespace {

namespace fs = std::filesystem;
using formats::Json;

// A context of 0 is the model's own length.
PreparedText prepared_with(const checkpoint::OpenedModel& opened, const training::TextRun& made,
                           const MaskedTextConfig& config) {
  PreparedText prepared;
  opened.need_floating("training");
  require(training::data_kind(made.text) == training::DataKind::kText, training::training_field(made.text),
          ": an encoder learns from train_text");
  require(config.attention.size() <= 1, "attention is one expression for all layers, found ", config.attention.size());
  checkpoint::EncoderLoadOptions load;
  load.head = models::Head::kMaskedLanguageModel;
  load.allow_new_head = true;
  load.seed = static_cast<std::uint64_t>(made.trainer.seed);
  load.new_tensors = &prepared.new_tensors;
  load.encoder.attention = config.attention.empty() ? "" : config.attention.front();
  models::EncoderModel model = checkpoint::load_encoder(opened, load);
  prepared.trainer = training::resolved(made.trainer);
  prepared.text = training::resolved(made.text);
  prepared.text.context = made.text.context == 0 ? model->config().maximum_length() : made.text.context;
  prepared.config = config;
  prepared.distillation = made.distillation;
  const auto tokenizer = std::make_shared<text::HuggingFaceTokenizer>(opened.path());
  std::shared_ptr<training::VocabularyTeacher> teacher;
  if (distills(made.distillation)) {  // before the text is read, which may take long
    const models::EncoderConfig& shape = model->config();
    teacher = std::make_shared<training::VocabularyTeacher>(
        made.distillation,
        training::VocabularyStudent{*tokenizer, shape.vocab_size, false, prepared.text.context, shape.output_size()});
  }
  prepared.task =
      std::make_shared<MaskedTextTask>(std::move(model), tokenizer, prepared.trainer, prepared.text, config);
  prepared.task->keep_modules(checkpoint::read_sentence_directory(opened.root()));
  prepared.task->learn_from(std::move(teacher), made.distillation);
  return prepared;
}

}  // namespace

Json further_training_defaults() {
  Json defaults = fine_tuning_defaults();
  defaults.erase("batch_size");
  return defaults;
}

PreparedText prepare_masked_text(const Json& fields, std::string_view where) {
  const auto model = formats::value_or(fields, "model", where, std::string());
  return prepare_masked_text(fields, checkpoint::open_model(model), where);
}

PreparedText prepare_masked_text(const Json& fields, const checkpoint::OpenedModel& model, std::string_view where) {
  Json all = further_training_defaults();
  all.update(fields);
  MaskedTextConfig config;
  formats::update_from_json(config, training::take_fields<MaskedTextConfig>(all), where);
  config = resolved(std::move(config));
  training::TextRun made;
  made.distillation = training::take_distillation(all, where);
  const bool has_context = all.contains("context");
  formats::update_from_json(made.text, training::take_fields<training::TextConfig>(all), where);
  formats::update_from_json(made.trainer, all, where);
  check_config(made.trainer, where);
  check_config(made.text, where);
  made.text.context = has_context ? made.text.context : 0;
  return prepared_with(model, made, config);
}

PreparedText prepare_masked_text_resumption(const fs::path& run, const Json& given) {
  const training::RunDirectory directory = training::RunDirectory::open_beside(run);
  const fs::path where = directory.path() / "training.json";
  const Json stands = directory.training();
  Json rest = given;
  training::TextRun made;
  made.trainer = training::resumed_trainer(training::config_from_json(stands, where), rest, where);
  made.text = training::resumed_text(stands, rest, where);
  made.distillation = training::resumed_distillation(stands, rest, where);
  const auto config = training::resumed_settings<MaskedTextConfig>(stands, rest, {}, where);
  training::require_all_taken(rest);
  return prepared_with(checkpoint::open_model(training::checkpoint_to_resume(directory).path), made, config);
}

training::TrainResult train_masked_text(const fs::path& run, const PreparedText& prepared) {
  return training::Trainer::start(run, prepared.trainer, prepared.task).run();
}

training::TrainResult resume_masked_text(const fs::path& path, const PreparedText& prepared) {
  return training::Trainer::resume(training::open_to_resume(path), prepared.trainer, prepared.task).run();
}

}  // namespace weft::fine_tuning
