// SPDX-License-Identifier: Apache-2.0
// Reading metrics.jsonl once, and the flags that differ from their defaults.
#include "weft/cli/report/run_figures.h"

#include <algorithm>
#include <cmath>

#include "weft/cli/field_flags.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/fine_tuning/settings.h"
#include "weft/formats/json_lines.h"
#include "weft/models/transformer_config.h"
#include "weft/training/trainer_config.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;
using formats::Json;

Json read_if_there(const fs::path& file) { return fs::exists(file) ? formats::read_json(file) : Json(nullptr); }

// Adds the numbers of an entry to the curves of their names; a figure that is null breaks its curve.
void add_points(std::vector<Curve>& curves, const Json& figures, double step) {
  for (const auto& [name, value] : figures.items()) {
    if (name == "step" || name == "time" || !(value.is_number() || value.is_null())) {
      continue;
    }
    auto curve =
        std::find_if(curves.begin(), curves.end(), [&, &key = name](const Curve& known) { return known.name == key; });
    if (curve == curves.end()) {
      curve = curves.insert(curves.end(), Curve{name, {}});
    }
    curve->points.emplace_back(step, value.is_null() ? std::nan("") : value.get<double>());
  }
}

void read_metrics(RunFigures& run) {
  const fs::path file = run.path / "metrics.jsonl";
  if (!fs::exists(file)) {
    return;
  }
  for (const Json& entry : formats::read_json_lines(file, formats::BrokenLines::kSkip)) {
    const Json step = entry.value("step", Json(nullptr));
    if (!step.is_number()) {
      continue;  // no line of Weft's
    }
    if (entry.contains("eval")) {
      run.evaluation = entry["eval"];
      run.evaluation["step"] = step;
      add_points(run.evaluated, entry["eval"], step.get<double>());
    } else if (entry.contains("loss")) {  // other entries tell of events
      run.last = entry;
      add_points(run.trained, entry, step.get<double>());
    }
  }
}

// A word of a shell's command line.
std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
    return word;
  }
  std::string quoted = "'";
  for (const char byte : word) {
    quoted += byte == '\'' ? "'\\''" : std::string(1, byte);
  }
  return quoted + "'";
}

std::string value_words(const Json& value) {
  if (!value.is_array()) {
    return " " + shell_word(value.is_string() ? value.get<std::string>() : value.dump());
  }
  std::string words;
  for (const Json& item : value) {
    words += value_words(item);
  }
  return words;
}

// Flags of the fields that are not what they are by default; `other_defaults` of a task go first.
template <typename Config>
std::string changed_flags(const Json& fields, const std::vector<std::string>& left_out,
                          const Json& other_defaults = Json::object()) {
  Json defaults = formats::to_json(Config());
  defaults.update(other_defaults);
  std::string flags;
  for (const auto& [name, standard] : defaults.items()) {
    const auto found = fields.find(name);
    if (found == fields.end() || *found == standard ||
        std::find(left_out.begin(), left_out.end(), name) != left_out.end()) {
      continue;
    }
    const bool off = found->is_boolean() && *found == Json(false);
    flags += (off ? " --no-" + flag_name(name).substr(2) : " " + flag_name(name)) +
             (found->is_boolean() ? "" : value_words(*found));
  }
  return flags;
}

}  // namespace

RunFigures read_run(const fs::path& run) {
  require(fs::is_regular_file(run / "training.json"), quote(run.native(), 4096),
          " is no run directory: it has no training.json");
  RunFigures figures;
  figures.path = run.has_filename() ? run : run.parent_path();  // without a slash at its end
  try {
    figures.training = formats::read_json(run / "training.json");
    figures.model = read_if_there(run / "config.json");
    figures.best = read_if_there(run / "best" / "best.json");
    figures.review = read_if_there(run / "evaluation.json");
    read_metrics(figures);
  } catch (const Json::exception& error) {
    fail(ErrorKind::kFormat, quote(run.native(), 4096), ": ", error.what());
  }
  return figures;
}

Json summary_json(const RunFigures& run) {
  Json summary = {{"run", run.path.string()}};
  for (const auto& [shown, name] :
       {std::pair{"steps", "step"}, {"tokens", "tokens"}, {"seconds", "seconds"}, {"loss", "loss"}}) {
    summary[shown] = run.last.is_object() ? run.last.value(name, Json(nullptr)) : Json(nullptr);
  }
  if (run.evaluation.is_object()) {
    for (const auto& [name, value] : run.evaluation.items()) {
      if (name != "step" && name != "seconds" && !summary.contains("eval " + name)) {
        summary["eval " + name] = value;
      }
    }
  }
  if (run.best.is_object()) {
    summary["best " + run.best.at("metric").get<std::string>()] = run.best.at("value");
  }
  return summary;
}

std::string command_to_repeat(const RunFigures& run) {
  std::string command = "weft train";
  const std::string out = " --out " + shell_word(run.path.string() + "-again");
  if (const std::string task = run.training.value("task", std::string()); !task.empty()) {
    // Epochs say how many steps there are.
    const bool by_epochs = run.training.value("epochs", std::int64_t{0}) > 0;
    std::vector<std::string> left_out = {"task", "processes"};
    left_out.insert(left_out.end(), by_epochs ? 1 : 0, "steps");
    command += " --task " + task + changed_flags<fine_tuning::FineTuningConfig>(run.training, left_out) +
               changed_flags<fine_tuning::DataSettings>(run.training, {});
    return command +
           changed_flags<training::TrainerConfig>(run.training, left_out, fine_tuning::fine_tuning_defaults()) + out;
  }
  const bool encoder = run.model.is_object() && !run.model.value("is_decoder", true);
  command += encoder ? " --encoder" : "";
  command += changed_flags<training::TrainerConfig>(run.training, {});
  if (run.model.is_object()) {
    command += changed_flags<models::TransformerConfig>(run.model, {"vocab_size", "tokenizer_class", "is_decoder"});
  }
  if (fs::exists(run.path / "tokenizer.model")) {
    command += " --tokenizer " + shell_word((run.path / "tokenizer.model").string());
  } else if (fs::exists(run.path / "tokenizer.json")) {
    command += " --tokenizer " + shell_word(run.path.string());
  }
  return command + out;
}

}  // namespace weft::cli
