// SPDX-License-Identifier: Apache-2.0
// Settings are complete, and printed where that is asked for, before a weight is read.
#include "weft/cli/tasks/sequence_command.h"

#include "weft/checkpoint/open_model.h"
#include "weft/cli/failure.h"
#include "weft/cli/field_flags.h"
#include "weft/cli/output.h"
#include "weft/core/error.h"

namespace weft::cli {
namespace {

// A whole file: --document, and no texts as arguments.
bool is_one_text(const TextSource& source, bool whole) { return whole && source.texts.empty(); }

void check_flags(const SequenceFlags& flags, bool whole) {
  if (!flags.task.out.empty()) {
    check_result_path(flags.task.out);
  }
  const readers::InputTextOptions& reading = flags.source.reading;
  if (is_one_text(flags.source, whole) && (reading.format != "auto" || !reading.text_field.empty())) {
    throw UsageError("--document takes the whole file as one text; --format and --text-field are for records");
  }
}

void check_result(const SequenceFlags& flags, const generation::GenerationConfig& settings) {
  if (!flags.task.out.empty() && settings.num_return_sequences > 1) {
    throw UsageError(
        concat("--out holds one text a record, but num_return_sequences is ", settings.num_return_sequences),
        "give --json, or --num-return-sequences 1");
  }
}

}  // namespace

void add_sequence_flags(CLI::App& app, SequenceFlags& flags) {
  add_fields<SequenceRunConfig>(app, {.title = "Texts"}, flags.task.run);
  add_generation_flags(app, flags.generation);
  add_encoder_flags(app, flags.task.encoder);
  add_result_file(app, flags.task);
  add_json_flag(app, flags.task.json);
}

OpenSequenceTask open_sequence_task(const SequenceFlags& flags, bool whole, const std::string& command) {
  check_flags(flags, whole);
  SequenceRunConfig config;
  formats::update_from_json(config, flags.task.run, command);
  const checkpoint::OpenedModel directory = checkpoint::open_model(flags.task.directory);
  tasks::SequenceModelOptions options;
  options.generation = generation_settings(flags.generation, directory.path(), command);
  // Without a length such texts would stop after 20 tokens, as those of `transformers` do.
  if (options.generation.max_length < 0 && options.generation.max_new_tokens < 0) {
    options.generation.max_length = directory.encoder_decoder_config().max_target_positions;
  }
  OpenSequenceTask task;
  task.run.batch = {config.batch_size, config.batch_tokens};
  if (flags.generation.print_settings) {
    print_json(formats::to_json(options.generation));
    return task;
  }
  check_result(flags, options.generation);
  const EncoderSettings settings = encoder_settings(flags.task.encoder, command);
  options.load = {.encoder = settings.encoder, .dtype = settings.dtype, .check_finite = settings.check_finite};
  options.stops = stop_strings;
  options.max_length = config.max_source_length;
  task.model = tasks::open_sequence_model(directory, options);
  return task;
}

void run_sequence_task(const SequenceFlags& flags, const tasks::RunOptions& run, bool whole, const RunOnDocuments& task,
                       const ResultForm& form) {
  const TextSource& source = flags.source;
  if (!is_one_text(source, whole)) {
    run_on_texts(source, flags.task, run, task, form);
    return;
  }
  const std::vector<tasks::Document> documents = whole_files({source.file.empty() ? "-" : source.file});
  ResultSink sink(flags.task, form);
  sink.take(task(documents).front(), documents.front());
  sink.finish();
}

}  // namespace weft::cli
