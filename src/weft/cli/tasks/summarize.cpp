// SPDX-License-Identifier: Apache-2.0
// `weft summarize`: short texts of long ones.
#include "weft/tasks/sequences/summarize.h"

#include <memory>

#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/tasks/sequence_command.h"
#include "weft/tasks/parameters/writing.h"

namespace weft::cli {
namespace {

constexpr const char* kSummarizeExamples =
    "  weft summarize bigbird-pegasus-large-arxiv --file papers.jsonl --text-field article --json\n"
    "  weft summarize led-base-16384 --document --file report.txt --num-beams 4 --max-length 256\n"
    "  weft summarize pegasus-xsum --truncate --file articles.txt";

struct SummarizeCommand {
  SequenceFlags flags;
  formats::Json given = formats::Json::object();
};

void run_summarize(const SummarizeCommand& command) {
  tasks::SummarizeConfig config;
  formats::update_from_json(config, command.given, "weft summarize");
  OpenSequenceTask task = open_sequence_task(command.flags, config.document, "weft summarize");
  if (!task.model) {
    return;
  }
  const tasks::SummarizeOptions options{.truncate = config.truncate, .batch = task.run.batch};
  const auto summarize = [&](std::span<const tasks::Document> documents) {
    return tasks::summarize(*task.model, documents, options);
  };
  run_sequence_task(command.flags, task.run, config.document, summarize, "summary_text");
}

}  // namespace

void add_summarize(CLI::App& parent) {
  auto command = std::make_shared<SummarizeCommand>();
  CLI::App& app = add_command(parent, "summarize", kSummarizeExamples);
  add_task_directory(app, command->flags.task);
  add_text_arguments(app, command->flags.source, false);
  add_fields<tasks::SummarizeConfig>(app, {.title = "Options"}, command->given);
  add_sequence_flags(app, command->flags);
  app.callback([command] { run_summarize(*command); });
}

}  // namespace weft::cli
