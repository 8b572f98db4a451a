// SPDX-License-Identifier: Apache-2.0
// `weft translate`: texts, files of texts and whole documents into another language.
#include "weft/tasks/sequences/translate.h"

#include <memory>

#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/tasks/sequence_command.h"
#include "weft/tasks/parameters/writing.h"

namespace weft::cli {
namespace {

constexpr const char* kTranslateExamples =
    "  weft translate opus-mt-en-de 'The loom weaves the thread.'\n"
    "  weft translate opus-mt-en-ROMANCE --target-lang fr --file captions.en --num-beams 4\n"
    "  weft translate opus-mt-de-en --document --file novel.txt --json";

struct TranslateCommand {
  SequenceFlags flags;
  formats::Json given = formats::Json::object();
};

void run_translate(const TranslateCommand& command) {
  tasks::TranslateConfig config;
  formats::update_from_json(config, command.given, "weft translate");
  OpenSequenceTask task = open_sequence_task(command.flags, config.document, "weft translate");
  if (!task.model) {
    return;
  }
  const tasks::TranslateOptions options = tasks::translate_options(config, *task.model, task.run.batch);
  const auto translate = [&](std::span<const tasks::Document> documents) {
    return tasks::translate(*task.model, documents, options);
  };
  run_sequence_task(command.flags, task.run, config.document, translate, "translation_text");
}

}  // namespace

void add_translate(CLI::App& parent) {
  auto command = std::make_shared<TranslateCommand>();
  CLI::App& app = add_command(parent, "translate", kTranslateExamples);
  add_task_directory(app, command->flags.task);
  add_text_arguments(app, command->flags.source, false);
  add_fields<tasks::TranslateConfig>(app, {.title = "Options"}, command->given);
  add_sequence_flags(app, command->flags);
  app.callback([command] { run_translate(*command); });
}

}  // namespace weft::cli
