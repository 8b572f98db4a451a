// SPDX-License-Identifier: Apache-2.0
// Where each figure is from stands beside it. What is not named there is as in fine_tuning_defaults().
#include "weft/fine_tuning/presets.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/fine_tuning/settings.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

struct Preset {
  std::string_view name;
  std::string_view tasks;  // that it is for
  std::string_view fields;
};

constexpr std::array<Preset, 11> kPresets = {{
    // Devlin et al. 2019, section 4.1: every task of GLUE; the best of 5e-5 to 2e-5 was chosen for each.
    {"bert-glue", "classify", R"({"batch_size": 32, "epochs": 3, "learning_rate": 3e-5})"},
    // Devlin et al. 2019, section 4.2; windows as in the released run_squad.py.
    {"bert-squad", "answer",
     R"({"batch_size": 32, "epochs": 3, "learning_rate": 5e-5, "max_length": 384, "stride": 128})"},
    // Devlin et al. 2019, section 4.3.
    {"bert-squad2", "answer",
     R"({"batch_size": 48, "epochs": 2, "learning_rate": 5e-5, "max_length": 384, "stride": 128})"},
    // Devlin et al. 2019, section 4.4.
    {"bert-swag", "choose", R"({"batch_size": 16, "epochs": 3, "learning_rate": 2e-5})"},
    // The released bigbird/classifier/base_size.sh and the defaults of run_classifier.py: 32 cores with 2 reviews each.
    {"bigbird-imdb", "classify",
     R"({"batch_size": 64, "steps": 16000, "warmup_steps": 1000, "learning_rate": 1e-5, "epsilon": 1e-6,
         "max_length": 4096, "truncate": true})"},
    // Zaheer et al. 2020, table 14: document classification with the base model at 4,096 tokens.
    {"bigbird-arxiv", "classify",
     R"({"batch_size": 64, "epochs": 10, "learning_rate": 3e-5, "max_length": 4096, "truncate": true})"},
    {"bigbird-patents", "classify",
     R"({"batch_size": 64, "epochs": 3, "learning_rate": 5e-5, "max_length": 4096, "truncate": true})"},
    {"bigbird-hyperpartisan", "classify",
     R"({"batch_size": 32, "epochs": 15, "learning_rate": 5e-6, "max_length": 4096, "truncate": true})"},
    {"bigbird-yelp5", "classify",
     R"({"batch_size": 32, "epochs": 2, "learning_rate": 2e-5, "max_length": 4096, "truncate": true})"},
    // Beltagy et al. 2020, appendix, and the defaults of scripts/wikihop.py. There one sequence holds all candidates;
    // here
    // each candidate is read with the prompt, as multiple-choice heads do.
    {"longformer-wikihop", "choose",
     R"({"batch_size": 32, "epochs": 15, "warmup_steps": 200, "learning_rate": 3e-5, "beta2": 0.98,
         "max_length": 4096, "truncate": true})"},
    // The released command for TriviaQA in scripts/cheatsheet.txt of Longformer's code.
    {"longformer-triviaqa", "answer",
     R"({"batch_size": 8, "epochs": 4, "warmup_steps": 1000, "learning_rate": 3e-5, "max_length": 4096})"},
}};

}  // namespace

std::vector<std::string_view> preset_names() {
  std::vector<std::string_view> names = {"none"};
  for (const Preset& preset : kPresets) {
    names.push_back(preset.name);
  }
  return names;
}

Json preset_fields(std::string_view name, const Json& given) {
  if (name == "none") {
    return Json::object();
  }
  const auto found =
      std::find_if(kPresets.begin(), kPresets.end(), [&](const Preset& preset) { return preset.name == name; });
  require(found != kPresets.end(), "no preset is called ", name);
  const std::string task = given.value("task", std::string("classify"));
  require(found->tasks == task, "preset ", name, " is for --task ", found->tasks, ", found ", task);
  Json fields = Json::parse(found->fields);
  constexpr std::array<const char*, 3> kLengths = {"steps", "epochs", "minutes"};
  if (std::any_of(kLengths.begin(), kLengths.end(), [&](const char* length) { return given.contains(length); })) {
    for (const char* length : kLengths) {
      fields.erase(length);
    }
  }
  return fields;
}

}  // namespace weft::fine_tuning
