// SPDX-License-Identifier: Apache-2.0
// `weft summarize`: short texts of long ones, written by a model, or made of their own sentences.
#include "weft/tasks/sequences/summarize.h"

#include <initializer_list>
#include <memory>
#include <string>

#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/model_argument.h"
#include "weft/cli/tasks/sequence_command.h"
#include "weft/core/error.h"
#include "weft/core/system/option_name.h"
#include "weft/tasks/extractive/extract.h"
#include "weft/tasks/parameters/writing.h"

namespace weft::cli {
namespace {

constexpr const char* kSummarizeExamples =
    "  weft summarize bigbird-pegasus-large-arxiv --file papers.jsonl --text-field article --json\n"
    "  weft summarize led-base-16384 --document --file report.txt --num-beams 4 --max-length 256\n"
    "  weft summarize pegasus-xsum --truncate --file articles.txt\n"
    "  weft summarize --method lexrank --words 200 --file papers.jsonl --text-field article --json";

struct SummarizeCommand {
  SequenceFlags flags;
  formats::Json given = formats::Json::object();
  formats::Json extract_given = formats::Json::object();
  std::string reference_field;
};

void refuse_flags(const formats::Json& given, const std::string& why) {
  if (!given.empty()) {
    throw UsageError(concat(flag_name(given.begin().key()), " ", why));
  }
}

// What says how a model writes.
void refuse_flags_of_models(const SummarizeCommand& command) {
  const std::string why = "is for models, and --method has none";
  formats::Json given = command.given;
  given.erase("document");
  const TaskFlags& task = command.flags.task;
  for (const formats::Json* flags : std::initializer_list<const formats::Json*>{&given, &task.run, &task.encoder.given,
                                                                                &command.flags.generation.given}) {
    refuse_flags(*flags, why);
  }
  if (command.flags.generation.print_settings) {
    throw UsageError("--print-settings " + why);
  }
  if (task.encoder.machine.device != "cpu") {
    throw UsageError("--device " + why);
  }
}

// Sentences of the texts themselves; no model is opened.
void run_extract(SummarizeCommand command, tasks::ExtractConfig config, bool whole) {
  SequenceFlags& flags = command.flags;
  if (!flags.task.directory.empty()) {
    throw UsageError("--method takes sentences of the text, and no model",
                     "give texts by --file or standard input, or leave out --method");
  }
  refuse_flags_of_models(command);
  if (config.method != "random" && command.extract_given.contains("random_seed")) {
    throw UsageError("--random-seed is for --method random");
  }
  if ((config.method == "oracle") != !command.reference_field.empty()) {
    throw UsageError("--method oracle and --reference-field are for each other");
  }
  if (!command.reference_field.empty()) {
    flags.source.reading.pairs = true;
    flags.source.reading.pair_field = command.reference_field;
  }
  check_sequence_source(flags, whole);
  config.rules.lines = !whole;
  const auto extract = [&](std::span<const tasks::Document> documents) { return tasks::extract(documents, config); };
  run_sequence_task(flags, {}, whole, extract, "summary_text");
}

void run_summarize(const SummarizeCommand& command) {
  tasks::SummarizeConfig config;
  formats::update_from_json(config, command.given, "weft summarize");
  tasks::ExtractConfig extract;
  formats::update_from_json(extract, command.extract_given, "weft summarize");
  if (!extract.method.empty()) {
    run_extract(command, extract, config.document);
    return;
  }
  refuse_flags(command.extract_given, "is for --method");
  if (!command.reference_field.empty()) {
    throw UsageError("--reference-field is for --method oracle");
  }
  if (command.flags.task.directory.empty()) {
    throw UsageError("weft summarize: DIR is required", "give a model directory, or --method");
  }
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
  add_model_argument(app, "DIR", command->flags.task.directory,
                     "model directory; none with --method, which reads --file or standard input");
  add_text_arguments(app, command->flags.source, false);
  add_fields<tasks::SummarizeConfig>(app, {.title = "Options"}, command->given);
  add_fields<tasks::ExtractConfig>(app, {.title = "Without a model"}, command->extract_given);
  app.add_option("--reference-field", command->reference_field,
                 "with --method oracle: column or JSON field of the summary to come near to")
      ->option_text("NAME");
  add_sequence_flags(app, command->flags);
  app.callback([command] { run_summarize(*command); });
}

}  // namespace weft::cli
