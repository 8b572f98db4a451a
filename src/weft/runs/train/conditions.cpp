// SPDX-License-Identifier: Apache-2.0
// What a run's fields are, given or not, and the conditions of those that were given.
#include "weft/runs/train/conditions.h"

#include <optional>

#include "weft/checkpoint/model_directory.h"
#include "weft/fine_tuning/pairs/pair_config.h"
#include "weft/fine_tuning/settings.h"
#include "weft/formats/field_conditions.h"
#include "weft/models/encoder_decoder_config.h"
#include "weft/models/transformer_config.h"
#include "weft/training/text_config.h"

namespace weft::runs {
namespace {

using formats::Json;

// The values in which a condition is looked up, and the check of each config that the task has.
class Settings {
 public:
  explicit Settings(const Json& given) : given_(given) {}

  template <class Config>
  void add(const Config& config) {
    values_.update(formats::to_json(config));
  }
  void lay_over(const Json& fields) { values_.update(fields); }
  void forget(const char* field) { values_.erase(field); }

  template <class... Configs>
  void check() const {
    (formats::check_given_conditions<Configs>(given_, values_, "weft train"), ...);
  }

 private:
  const Json& given_;
  Json values_ = Json::object();
};

void check_text(const TrainRequest& request, Settings settings) {
  settings.add(training::TrainerConfig());
  settings.add(training::TextConfig());
  const bool is_new = request.training == Training::kNewModel;
  if (is_new) {
    settings.add(models::TransformerConfig());
  } else if (request.training == Training::kFurtherModel) {
    settings.add(checkpoint::load_config(request.model.value()));
  } else {
    settings.lay_over({{"memory_length", 0}});  // encoders of Hugging Face have no memory
  }
  settings.lay_over(request.fields);
  settings.check<training::TrainerConfig, training::TextConfig>();
  if (is_new) {
    settings.check<models::TransformerConfig>();
  }
}

void check_examples(const TrainRequest& request, Settings settings) {
  settings.add(training::TrainerConfig());
  settings.add(fine_tuning::FineTuningConfig());
  settings.add(fine_tuning::DataSettings());
  settings.lay_over(fine_tuning::with_defaults(request.fields, "weft train"));
  settings.check<training::TrainerConfig, fine_tuning::FineTuningConfig, fine_tuning::DataSettings>();
}

void check_pairs(const TrainRequest& request, Settings settings) {
  const fine_tuning::PairSettings run = fine_tuning::make_pair_settings(request.fields, std::nullopt, "weft train");
  settings.add(run.trainer);
  settings.add(run.pairs);
  // What the task does not read is no way out of a condition.
  settings.forget(fine_tuning::makes_noise(run.pairs) ? "eval_source" : "eval_text");
  settings.check<training::TrainerConfig, fine_tuning::PairConfig, models::EncoderDecoderConfig>();
}

}  // namespace

void check_given_conditions(const TrainRequest& request, const Json& given) {
  switch (request.training) {
    case Training::kNewModel:
    case Training::kFurtherModel:
    case Training::kFurtherEncoder:
      return check_text(request, Settings(given));
    case Training::kFineTuning:
      return check_examples(request, Settings(given));
    case Training::kPairs:
      return check_pairs(request, Settings(given));
    default:
      return;
  }
}

}  // namespace weft::runs
