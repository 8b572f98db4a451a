// SPDX-License-Identifier: Apache-2.0
// `weft tag`: entities in texts of any length, with their places.
#include "weft/tasks/tag.h"

#include <memory>

#include "weft/checkpoint/open_model.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/cli/tasks/task_command.h"
#include "weft/core/joined.h"
#include "weft/requests/encoder_parameters.h"

namespace weft::cli {
namespace {

constexpr const char* kTagExamples =
    "  weft tag ner 'Ada Lovelace lived in London.' --aggregation-strategy simple\n"
    "  weft tag ner --file articles.txt --aggregation-strategy first --json\n"
    "  weft tag electra-discriminator 'The loom ate the thread.' --json     (which tokens seem replaced)";

// What the command does without flags.
requests::TagParameters tag_defaults() { return {.aggregation_strategy = "none"}; }

struct TagCommand {
  TaskFlags flags;
  TextSource source;
  formats::Json given = formats::Json::object();
};

// "PER 0-12 Ada Lovelace  LOC 22-28 London".
std::string tag_line(const formats::Json& result) {
  return joined(result, "  ", [](const formats::Json& entity) {
    const bool grouped = entity.contains("entity_group");
    return concat(entity[grouped ? "entity_group" : "entity"].get<std::string>(), " ",
                  entity["start"].get<std::int64_t>(), "-", entity["end"].get<std::int64_t>(), " ",
                  entity["word"].get<std::string>());
  });
}

void run_tag(const TagCommand& command) {
  requests::TagParameters config = tag_defaults();
  formats::update_from_json(config, command.given, "weft tag");
  const checkpoint::OpenedModel directory = checkpoint::open_model(command.flags.directory);
  OpenTask task = open_task(command.flags, directory, tasks::tagging_head(directory), "weft tag");
  const tasks::TagOptions options{.aggregation = tasks::parse_aggregation(config.aggregation_strategy),
                                  .ignore_labels = config.ignore_labels,
                                  .run = task.run};
  run_on_texts(command.source, command.flags, task.run,
               [&](std::span<const tasks::Document> documents) { return tasks::tag(task.model, documents, options); },
               {tag_line, [](const formats::Json& result) { return formats::Json{{"predicted_entities", result}}; }});
}

}  // namespace

void add_tag(CLI::App& parent) {
  auto command = std::make_shared<TagCommand>();
  CLI::App& app = add_command(parent, "tag", kTagExamples);
  add_task_directory(app, command->flags);
  add_text_arguments(app, command->source, false);
  add_fields<requests::TagParameters>(app, {.title = "Options"}, command->given, tag_defaults());
  add_result_file(app, command->flags);
  add_task_flags(app, command->flags, true);
  app.callback([command] { run_tag(*command); });
}

}  // namespace weft::cli
