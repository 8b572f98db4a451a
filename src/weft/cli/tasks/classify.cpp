// SPDX-License-Identifier: Apache-2.0
// `weft classify`: labels for texts, or for pairs of texts.
#include "weft/tasks/classify.h"

#include <memory>

#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/cli/tasks/task_command.h"
#include "weft/core/joined.h"
#include "weft/requests/encoder_parameters.h"

namespace weft::cli {
namespace {

constexpr const char* kClassifyExamples =
    "  weft classify sentiment 'I did not expect to like it.'\n"
    "  weft classify nli --pairs --file premises-and-hypotheses.tsv --top-k 0 --json\n"
    "  weft classify sentiment --file reviews.csv --text-field body --out reviews-with-labels.csv";

// What the command does without flags.
requests::ClassifyParameters classify_defaults() { return {.top_k = 1}; }

struct ClassifyCommand {
  TaskFlags flags;
  TextSource source;
  formats::Json given = formats::Json::object();
};

std::string classify_line(const formats::Json& result) {
  return joined(result, "  ", [](const formats::Json& label) {
    return label["label"].get<std::string>() + " " + score_text(label["score"].get<double>());
  });
}

// The best label; all that were asked for where these are several.
formats::Json classify_columns(const formats::Json& result) {
  formats::Json columns = {{"predicted", result.front()["label"]}, {"predicted_score", result.front()["score"]}};
  if (result.size() > 1) {
    formats::Json& scores = columns["predicted_scores"] = formats::Json::object();
    for (const formats::Json& label : result) {
      scores[label["label"].get<std::string>()] = label["score"];
    }
  }
  return columns;
}

void run_classify(const ClassifyCommand& command) {
  requests::ClassifyParameters config = classify_defaults();
  formats::update_from_json(config, command.given, "weft classify");
  OpenTask task = open_task(command.flags, models::Head::kSequenceClassification, "weft classify");
  const tasks::ClassifyOptions options{.top_k = config.top_k, .function = config.function_to_apply, .run = task.run};
  run_on_texts(
      command.source, command.flags, task.run,
      [&](std::span<const tasks::Document> documents) { return tasks::classify(task.model, documents, options); },
      {classify_line, classify_columns});
}

}  // namespace

void add_classify(CLI::App& parent) {
  auto command = std::make_shared<ClassifyCommand>();
  CLI::App& app = add_command(parent, "classify", kClassifyExamples);
  add_task_directory(app, command->flags);
  add_text_arguments(app, command->source, true);
  add_fields<requests::ClassifyParameters>(app, {.title = "Options", .left_out = {"truncation"}}, command->given,
                                           classify_defaults());
  add_result_file(app, command->flags);
  add_task_flags(app, command->flags, false);
  app.callback([command] { run_classify(*command); });
}

}  // namespace weft::cli
