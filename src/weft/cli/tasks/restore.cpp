// SPDX-License-Identifier: Apache-2.0
// `weft restore`: case, punctuation and sentence ends for bare words, with the model that comes with Weft.
#include "weft/tasks/restore.h"

#include <memory>

#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/model_argument.h"
#include "weft/cli/tasks/shipped_model.h"
#include "weft/cli/tasks/task_command.h"
#include "weft/cli/tasks/text_input.h"

namespace weft::cli {
namespace {

constexpr const char* kRestoreExamples =
    "  weft restore 'good morning mr holmes did you sleep well'\n"
    "  weft restore --file transcript.txt > readable.txt\n"
    "  weft restore - --json < transcript.txt";

struct RestoreCommand {
  TaskFlags flags;
  std::vector<std::string> texts;
  std::string file;
};

std::vector<tasks::Document> restored_documents(const RestoreCommand& command) {
  if (!command.texts.empty() && !command.file.empty()) {
    throw UsageError("weft restore takes texts or --file, found both", "weft restore --help shows examples");
  }
  return whole_documents(command.texts, std::vector<std::string>(command.file.empty() ? 0 : 1, command.file));
}

void run_restore(RestoreCommand& command) {
  const std::vector<tasks::Document> documents = restored_documents(command);
  if (command.flags.directory.empty()) {
    command.flags.directory = shipped_model("restore");
  }
  OpenTask task = open_task(command.flags, models::Head::kTokenClassification, "weft restore");
  ResultSink sink(
      command.flags,
      {.line = [](const formats::Json& result) { return result.at("text").get<std::string>(); }, .is_text = true});
  visit_documents(
      documents, [&](std::span<const tasks::Document> some) { return tasks::restore(task.model, some, task.run); },
      [&](const tasks::TaskResult& result, const tasks::Document& document) { sink.take(result, document); },
      sink.errors());
  sink.finish();
}

}  // namespace

void add_restore(CLI::App& parent) {
  auto command = std::make_shared<RestoreCommand>();
  CLI::App& app = add_command(parent, "restore", kRestoreExamples);
  app.add_option("TEXT", command->texts, "texts; without any, Weft reads --file or standard input (also as -)")
      ->expected(0, -1);
  app.add_option("--file", command->file, "file that is one text, plain or gzip; - is standard input");
  add_model_argument(app, "--model", command->flags.directory,
                     "model directory in place of the model that comes with Weft")
      .option_text("DIR");
  add_task_flags(app, command->flags, true);
  app.callback([command] { run_restore(*command); });
}

}  // namespace weft::cli
