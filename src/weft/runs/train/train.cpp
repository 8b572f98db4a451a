// SPDX-License-Identifier: Apache-2.0
// Each way to train is one function: configs from the fields, what the listener hears, run.
#include "weft/runs/train/train.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/attention/devices/device.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/system/usage_error.h"
#include "weft/data/masking.h"
#include "weft/data/picture_tokens.h"
#include "weft/fine_tuning/fine_tune.h"
#include "weft/fine_tuning/masked_text/masked_text_run.h"
#include "weft/fine_tuning/pairs/pair_run.h"
#include "weft/formats/json_members.h"
#include "weft/readers/media/media_files.h"
#include "weft/report/run_summary.h"
#include "weft/text/hugging_face.h"
#include "weft/training/processes/process_group.h"
#include "weft/training/resumption.h"
#include "weft/training/train_language_model.h"

namespace weft::runs {
namespace {

using formats::Json;

void check_free(const std::string& out) {
  if (training::processes().is_first()) {
    training::RunDirectory::check_free(out);
  }
}

// The tokeniser that was named: a folder of `weft tokenizer train` or of a Hugging Face model, a
// tokenizer.json, or SentencePiece's file; bytes without one.
std::shared_ptr<const text::Tokenizer> tokenizer_at(const std::filesystem::path& path) {
  if (path.empty()) {
    return text::make_byte_tokenizer();
  }
  if (path.filename() == "tokenizer.json") {
    return std::make_shared<text::HuggingFaceTokenizer>(path.parent_path().empty() ? "." : path.parent_path());
  }
  if (!std::filesystem::is_directory(path)) {
    return text::load_sentencepiece(named_by_user(path));
  }
  std::shared_ptr<const text::Tokenizer> tokenizer = text::load_tokenizer(path);
  require(tokenizer->kind() != "bytes", "tokenizer: ", Quoted(path.string(), 4096), " holds no tokeniser's files");
  return tokenizer;
}

// One more id begins a picture, and a window is a whole one.
void make_for_pictures(const TrainRequest& request, training::TextConfig& text, models::TransformerConfig& model) {
  if (!request.tokenizer_file.empty()) {
    throw UsageError(concat(option("tokenizer"), " is for text, and ", option("train_images"),
                            " has pictures, whose bytes are the vocabulary"),
                     "leave it out");
  }
  const readers::PictureShape shape = readers::first_shape(readers::list_pictures(text.train_images));
  require(!request.fields.contains("context") || text.context == shape.bytes(),
          "context: a window is a whole picture, ", shape.bytes(), " bytes, found ", text.context, "; leave it out");
  text.context = shape.bytes();
  model.vocab_size = data::kPictureVocabulary;
  model.picture_shape = {shape.height, shape.width, shape.channels};
}

// The vocabulary is the tokeniser's, and the model is made for the training context unless max_position_embeddings
// says otherwise.
training::TrainResult train_new_model(const TrainRequest& request, TrainListener& listener) {
  const Json& fields = request.fields;
  training::TextRun run;
  models::TransformerConfig model;
  model.directory = request.beside;
  formats::update_from_json(run.trainer, formats::only_fields_of<training::TrainerConfig>(fields), "weft train");
  formats::update_from_json(run.text, formats::only_fields_of<training::TextConfig>(fields), "weft train");
  formats::update_from_json(run.distillation, formats::only_fields_of<training::DistillationConfig>(fields),
                            "weft train");
  formats::update_from_json(model, formats::only_fields_of<models::TransformerConfig>(fields), "weft train");
  const std::shared_ptr<const text::Tokenizer> tokenizer = tokenizer_at(request.tokenizer_file);
  model.vocab_size = data::model_vocabulary(*tokenizer, model.is_decoder);
  model.tokenizer_class = tokenizer->kind();
  model.picture_shape.clear();
  if (data_kind(run.text) == training::DataKind::kPictures) {
    make_for_pictures(request, run.text, model);
  }
  if (!fields.contains("max_position_embeddings")) {
    model.max_position_embeddings = run.text.context;
  }
  check_config(run.text, "weft train");
  check_config(run.trainer, "weft train");
  check_config(run.distillation, "weft train");
  models::validate(model, "weft train");
  check_free(request.out);
  listener.begins(run, model);
  return training::train_language_model(request.out, run, model, tokenizer);
}

void require_task(const TrainRequest& request, const std::string& fits) {
  if (request.task != fits) {
    throw UsageError(concat(option("task"), " is ", request.task, ", but the model of ",
                            quote(request.fields.at("model").get<std::string>(), 4096), " learns ", fits),
                     concat(option("task"), " ", fits));
  }
}

training::TrainResult train_further_model(const TrainRequest& request, TrainListener& listener) {
  const checkpoint::OpenedModel& directory = request.model.value();
  models::TransformerConfig model = checkpoint::load_config(directory);
  require_task(request, model.is_decoder ? "lm" : "mlm");
  for (const char* field : {"attention", "gradient_checkpointing"}) {
    if (request.fields.contains(field) && !(request.is_pruned && field == std::string_view("attention"))) {
      throw UsageError(
          concat(option(field),
                 " is for new models and for encoders of Hugging Face, not for a model that weft train made"),
          concat("leave it out: the directory of ", option("model"), " decides it, or ", option("attention"),
                 " @FILE with a file of weft prune"));
    }
  }
  Json all = fine_tuning::further_training_defaults();
  all.update(request.fields);
  all.erase("model");
  all.erase("task");
  training::FirstPatterns patterns;
  if (request.is_pruned) {
    patterns = {all.at("attention").get<std::vector<std::string>>(), request.beside};
    model.attention = patterns.attention;
    model.directory = patterns.directory;
    models::validate(model, "weft train");
    all.erase("attention");
  }
  training::TextRun run;
  run.text.context = model.max_position_embeddings;
  formats::update_from_json(run.text, training::take_fields<training::TextConfig>(all), "weft train");
  formats::update_from_json(run.distillation, training::take_fields<training::DistillationConfig>(all), "weft train");
  formats::update_from_json(run.trainer, all, "weft train");
  check_config(run.trainer, "weft train");
  check_config(run.text, "weft train");
  check_config(run.distillation, "weft train");
  check_free(request.out);
  listener.begins(run, model);
  return training::train_further(request.out, run, directory, patterns);
}

training::TrainResult train_further_encoder(const TrainRequest& request, TrainListener& listener) {
  require_task(request, "mlm");
  check_free(request.out);
  const fine_tuning::PreparedText prepared =
      fine_tuning::prepare_masked_text(request.fields, request.model.value(), "weft train");
  listener.begins(prepared);
  return fine_tuning::train_masked_text(request.out, prepared);
}

training::TrainResult fine_tune(const TrainRequest& request, TrainListener& listener) {
  const fine_tuning::RunSettings settings = fine_tuning::make_settings(request.fields, "weft train");
  check_free(request.out);
  const fine_tuning::Prepared prepared = fine_tuning::prepare(settings);
  listener.begins(prepared);
  return fine_tuning::fine_tune(request.out, prepared);
}

training::TrainResult train_pairs(const TrainRequest& request, TrainListener& listener) {
  check_free(request.out);
  const fine_tuning::PreparedPairs prepared =
      fine_tuning::prepare_pairs(request.fields, request.tokenizer_file, request.beside, "weft train");
  listener.begins(prepared);
  return fine_tuning::train_pairs(request.out, prepared);
}

// Told from what the run records, with the length and the places of text that are given laid over it;
// resume_language_model() then holds the given fields to the run.
void tell_resumed_model(const TrainRequest& request, TrainListener& listener) {
  const std::optional<Json> found = report::run_json(request.out);
  if (!found || !found->contains("step")) {
    return;
  }
  Json settings = found->at("config");
  for (const char* name :
       {"steps", "minutes", "train_text", "eval_text", "train_images", "eval_images", "train_audio", "eval_audio"}) {
    if (request.fields.contains(name)) {
      settings[name] = request.fields[name];
    }
  }
  const std::string where = quote(request.out + "/training.json", 4096);
  training::TextRun run;
  formats::update_from_json(run.trainer, formats::only_fields_of<training::TrainerConfig>(settings), where);
  formats::update_from_json(run.text, formats::only_fields_of<training::TextConfig>(settings), where);
  formats::update_from_json(run.distillation, formats::only_fields_of<training::DistillationConfig>(settings), where);
  listener.begins(run, checkpoint::load_config(request.model.value()));
  listener.goes_on_after(found->at("step").get<std::int64_t>());
}

training::TrainResult resume_model(const TrainRequest& request, TrainListener& listener) {
  if (training::processes().is_first()) {
    tell_resumed_model(request, listener);
  }
  return training::resume_language_model(request.out, request.fields);
}

training::TrainResult resume_encoder(const TrainRequest& request, TrainListener& listener) {
  const fine_tuning::PreparedText prepared = fine_tuning::prepare_masked_text_resumption(request.out, request.fields);
  listener.begins(prepared);
  return fine_tuning::resume_masked_text(request.out, prepared);
}

training::TrainResult resume_fine_tuning(const TrainRequest& request, TrainListener& listener) {
  const fine_tuning::Prepared prepared = fine_tuning::prepare_resumption(request.out, request.fields);
  listener.begins(prepared);
  return fine_tuning::resume_fine_tuning(request.out, prepared);
}

training::TrainResult resume_pairs(const TrainRequest& request, TrainListener& listener) {
  const fine_tuning::PreparedPairs prepared = fine_tuning::prepare_pairs_resumption(request.out, request.fields);
  listener.begins(prepared);
  return fine_tuning::resume_pairs(request.out, prepared);
}

// Before data are read, which may take long.
void check_device(const TrainRequest& request) {
  const std::optional<Json> found = is_resumed(request.training) ? report::run_json(request.out) : std::nullopt;
  Json settings = found ? found->at("config") : Json::object();
  settings.update(request.fields);
  attention::usable_device(formats::value_or(settings, "device", "weft train", std::string("cpu")),
                           formats::value_or(settings, "tf32", "weft train", false));
}

}  // namespace

training::TrainResult train(const TrainRequest& request, TrainListener& listener) {
  check_device(request);
  if (is_resumed(request.training)) {
    tell_stored_settings(ModelFile(request.out, "training.json"), request.fields, request.heard);
  }
  switch (request.training) {
    case Training::kNewModel:
      return train_new_model(request, listener);
    case Training::kFurtherModel:
      return train_further_model(request, listener);
    case Training::kFurtherEncoder:
      return train_further_encoder(request, listener);
    case Training::kFineTuning:
      return fine_tune(request, listener);
    case Training::kResumedModel:
      return resume_model(request, listener);
    case Training::kResumedEncoder:
      return resume_encoder(request, listener);
    case Training::kResumedFineTuning:
      return resume_fine_tuning(request, listener);
    case Training::kPairs:
      return train_pairs(request, listener);
    case Training::kResumedPairs:
      return resume_pairs(request, listener);
  }
  fail(ErrorKind::kUnsupported, "weft train: no such way to train");
}

}  // namespace weft::runs
