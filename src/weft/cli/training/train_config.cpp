// SPDX-License-Identifier: Apache-2.0
// One flat JSON object serves both configs: no field name is in both lists.
#include "weft/cli/training/train_config.h"

#include <filesystem>

#include "weft/cli/field_flags.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/data/masking.h"
#include "weft/fine_tuning/settings.h"
#include "weft/text/hugging_face.h"

namespace weft::cli {

using formats::Json;

Json merged_fields(const std::string& file, const Json& flags) {
  Json fields = Json::object();
  if (!file.empty()) {
    fields = formats::read_json(file);
    std::vector<std::string_view> known = field_names<training::TrainerConfig>();
    const std::vector<std::string_view> of_model = field_names<models::TransformerConfig>();
    known.insert(known.end(), of_model.begin(), of_model.end());
    for (const auto& more : {field_names<fine_tuning::FineTuningConfig>(), field_names<fine_tuning::DataSettings>()}) {
      known.insert(known.end(), more.begin(), more.end());
    }
    // What a run's own files hold besides fields: they are taken as config files, too.
    const std::initializer_list<std::string_view> written = {"architectures", "model_type", "weft_version",
                                                             "torch_version"};
    formats::check_keys(fields, file, known, written);
    for (const std::string_view name : written) {
      fields.erase(std::string(name));
    }
  }
  std::vector<std::string> read;
  for (const auto& [name, value] : fields.items()) {
    if (!flags.contains(name)) {
      read.push_back(name);
    }
  }
  note_config_file(file, read);
  fields.update(flags);
  return fields;
}

namespace {

// The tokeniser that --tokenizer names: a folder of `weft tokenizer train` or of a Hugging Face model, a
// tokenizer.json, or SentencePiece's file; bytes without one.
std::shared_ptr<const text::Tokenizer> tokenizer_at(const std::filesystem::path& path) {
  if (path.empty()) {
    return text::make_byte_tokenizer();
  }
  if (path.filename() == "tokenizer.json") {
    return std::make_shared<text::HuggingFaceTokenizer>(path.parent_path().empty() ? "." : path.parent_path());
  }
  if (!std::filesystem::is_directory(path)) {
    return text::load_sentencepiece(path);
  }
  std::shared_ptr<const text::Tokenizer> tokenizer = text::load_tokenizer(path);
  require(tokenizer->kind() != "bytes", "tokenizer: ", quote(path.string(), 4096), " holds no tokeniser's files");
  return tokenizer;
}

}  // namespace

TrainPlan plan_training(const Json& fields, const std::string& tokenizer_file, const std::filesystem::path& directory) {
  TrainPlan plan;
  plan.model.directory = directory;
  formats::update_from_json(plan.trainer, only_fields_of<training::TrainerConfig>(fields), "weft train");
  formats::update_from_json(plan.model, only_fields_of<models::TransformerConfig>(fields), "weft train");
  plan.tokenizer = tokenizer_at(tokenizer_file);
  plan.model.vocab_size = data::model_vocabulary(*plan.tokenizer, plan.model.is_decoder);
  plan.model.tokenizer_class = plan.tokenizer->kind();
  if (!fields.contains("max_position_embeddings")) {
    plan.model.max_position_embeddings = plan.trainer.context;
  }
  training::require_train_text(plan.trainer, "weft train");
  training::check_config(plan.trainer, "weft train");
  models::validate(plan.model, "weft train");
  return plan;
}

}  // namespace weft::cli
