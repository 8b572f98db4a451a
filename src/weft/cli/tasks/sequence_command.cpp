// SPDX-License-Identifier: Apache-2.0
// Settings are complete, and printed where that is asked for, before a weight is read.
#include "weft/cli/tasks/sequence_command.h"

#include "weft/checkpoint/open_model.h"
#include "weft/cli/field_flags.h"
#include "weft/cli/output.h"

namespace weft::cli {

void add_sequence_flags(CLI::App& app, SequenceFlags& flags) {
  add_fields<SequenceRunConfig>(app, {.title = "Texts"}, flags.task.run);
  add_generation_flags(app, flags.generation);
  add_encoder_flags(app, flags.task.encoder);
  add_result_file(app, flags.task);
  add_json_flag(app, flags.task.json);
}

OpenSequenceTask open_sequence_task(const SequenceFlags& flags, const std::string& command) {
  SequenceRunConfig config;
  formats::update_from_json(config, flags.task.run, command);
  const checkpoint::OpenedModel directory = checkpoint::open_model(flags.task.directory);
  // Directories without settings of their own would stop after 20 tokens, as those of `transformers` do.
  generation::GenerationConfig defaults;
  defaults.max_length = directory.encoder_decoder_config().max_target_positions;
  tasks::SequenceModelOptions options;
  options.generation = generation_settings(flags.generation, directory.path(), command, defaults);
  OpenSequenceTask task;
  task.run.batch = {config.batch_size, config.batch_tokens};
  if (flags.generation.print_settings) {
    print_json(formats::to_json(options.generation));
    return task;
  }
  const EncoderSettings settings = encoder_settings(flags.task.encoder, command);
  options.load = {.encoder = settings.encoder, .dtype = settings.dtype, .check_finite = settings.check_finite};
  options.stops = stop_strings;
  options.max_length = config.max_source_length;
  task.model = tasks::open_sequence_model(directory, options);
  return task;
}

void run_sequence_task(const TextSource& source, const TaskFlags& flags, const tasks::RunOptions& run, bool whole,
                       const RunOnDocuments& task, const ResultForm& form) {
  if (!whole || !source.texts.empty()) {
    run_on_texts(source, flags, run, task, form);
    return;
  }
  const std::vector<tasks::Document> documents = whole_files({source.file.empty() ? "-" : source.file});
  ResultSink sink(flags, form);
  sink.take(task(documents).front(), documents.front());
  sink.finish();
}

}  // namespace weft::cli
