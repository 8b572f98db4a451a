// SPDX-License-Identifier: Apache-2.0
// `weft choose`: which of several texts goes with a prompt.
#include "weft/tasks/choose.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/cli/tasks/task_command.h"
#include "weft/readers/input/columns.h"

namespace weft::cli {
namespace {

using formats::Json;

constexpr const char* kChooseExamples =
    "  weft choose swag --prompt 'The weaver sits down.' --choice 'She begins to weave.' --choice 'It rains upwards.'\n"
    "  weft choose swag --file questions.jsonl --json      (lines {\"prompt\": TEXT, \"choices\": [TEXT, ...]})";

struct ChooseCommand {
  TaskFlags flags;
  std::string prompt;
  std::vector<std::string> choices;
  TextSource source;
};

// "1 0.8123  She begins to weave.": the best choice only.
std::string choose_line(const Json& result) {
  const Json& best = result.front();
  return concat(best["index"].get<std::int64_t>(), " ", score_text(best["score"].get<double>()), "  ",
                best["choice"].get<std::string>());
}

constexpr std::array<std::string_view, 1> kPrompt = {"prompt"};

// Of a record's fields, whichever form of JSON it stands in.
tasks::Question question_of(const tasks::Document& record) {
  const Json& json = record.fields;
  const std::string prompt = readers::known_field(json, "prompt");
  const std::string choices = readers::known_field(json, "choices");
  const auto is_text = [](const Json& value) { return value.is_string(); };
  const bool fits = json.is_object() && json.contains(prompt) && is_text(json[prompt]) && json.contains(choices) &&
                    json[choices].is_array() && std::all_of(json[choices].begin(), json[choices].end(), is_text);
  if (!fits) {
    fail(ErrorKind::kFormat, record.name, ": expected {\"prompt\": TEXT, \"choices\": [TEXT, ...]}");
  }
  return {json[prompt].get<std::string>(), json[choices].get<std::vector<std::string>>(), record.name};
}

void run_choose(const ChooseCommand& command) {
  if (command.prompt.empty() != command.choices.empty() || (!command.prompt.empty() && !command.source.file.empty())) {
    throw UsageError("weft choose needs --prompt with each --choice, or --file",
                     "for example: weft choose DIR --prompt 'It rains.' --choice 'Wet.' --choice 'Dry.'");
  }
  OpenTask task = open_task(command.flags, models::Head::kMultipleChoice, "weft choose");
  if (!command.prompt.empty()) {
    ResultSink(command.flags, {choose_line})
        .take(tasks::choose(task.model, {command.prompt, command.choices}, task.run),
              {.first = {}, .name = "the question"});
    return;
  }
  const auto each = [&](std::span<const tasks::Document> records) {
    std::vector<tasks::TaskResult> results;
    for (const tasks::Document& record : records) {
      results.push_back(tasks::choose(task.model, question_of(record), task.run));
    }
    return results;
  };
  ResultSink sink(command.flags, {choose_line});
  const auto show = [&](const tasks::TaskResult& result, const tasks::Document& record) {
    tasks::Document shown = record;
    shown.names_of_texts = {readers::known_field(record.fields, "prompt"),
                            readers::known_field(record.fields, "choices")};
    sink.take(result, shown);
  };
  visit_results(command.source, task.run, each, show, true, sink.errors());
  sink.finish();
}

}  // namespace

void add_choose(CLI::App& parent) {
  auto command = std::make_shared<ChooseCommand>();
  CLI::App& app = add_command(parent, "choose", kChooseExamples);
  command->source.reading.format = "objects";
  command->source.reading.usual_texts = kPrompt;
  add_task_directory(app, command->flags);
  app.add_option("--prompt", command->prompt, "the text that every choice continues")->option_text("TEXT");
  app.add_option("--choice", command->choices, "a text to choose from; give at least two")
      ->option_text("TEXT")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--file", command->source.file, "file of questions, as JSON lines or an array; - is standard input")
      ->option_text("FILE");
  add_task_flags(app, command->flags, false);
  app.callback([command] { run_choose(*command); });
}

}  // namespace weft::cli
