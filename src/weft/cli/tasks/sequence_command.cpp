// SPDX-License-Identifier: Apache-2.0
// Settings are complete, and printed where that is asked for, before a weight is read.
#include "weft/cli/tasks/sequence_command.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "weft/checkpoint/open_model.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/short_help.h"
#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/log.h"
#include "weft/tasks/parameters/writing.h"

namespace weft::cli {
namespace {

// A whole file: --document, and no texts as arguments.
bool is_one_text(const TextSource& source, bool whole) { return whole && !are_texts(source.texts); }

}  // namespace

void check_sequence_source(const SequenceFlags& flags, bool whole) {
  check_one_source(flags.source);
  if (!flags.task.out.empty()) {
    check_result_path(flags.task.out);
  }
  const std::string flag = tasks::given_reading_flag(flags.source.reading);
  if (is_one_text(flags.source, whole) && !flag.empty()) {
    throw UsageError(concat("--document takes the whole file as one text; ", flag, " is for records"), "leave it out");
  }
}

namespace {

void check_result(const SequenceFlags& flags, const generation::GenerationConfig& settings) {
  if (!flags.task.out.empty() && settings.num_return_sequences > 1) {
    throw UsageError(
        concat("--out holds one text a record, but num_return_sequences is ", settings.num_return_sequences),
        "give --json, or --num-return-sequences 1");
  }
}

constexpr const char* kLineBreaks = "\n\r";

// A blank for each run of line breaks.
std::string in_one_line(std::string_view text) {
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(kLineBreaks, at), text.size());
    line += text.substr(at, end - at);
    at = std::min(text.find_first_not_of(kLineBreaks, end), text.size());
    line += at > end ? " " : "";
  }
  return line;
}

// `field` of each text that a result has. A single text is printed as it is.
ResultForm sequence_form(const SequenceFlags& flags, bool whole, const std::string& field) {
  const TextSource& source = flags.source;
  const bool alone = is_one_text(source, whole) || (source.texts.size() == 1 && are_texts(source.texts));
  const auto line = [field, alone, warned = false](const formats::Json& result) mutable {
    return joined(result, "\n", [&](const formats::Json& written) {
      auto text = written[field].get<std::string>();
      if ((alone && result.size() == 1) || text.find_first_of(kLineBreaks) == std::string::npos) {
        return text;
      }
      if (!std::exchange(warned, true)) {
        log_warning(
            "line breaks inside results are shown as blanks, so that each result is one line; --json and --out "
            "keep them");
      }
      return in_one_line(text);
    });
  };
  const auto columns = [field](const formats::Json& result) { return formats::Json{{field, result.front()[field]}}; };
  return {.line = line, .columns = columns, .is_text = true};
}

}  // namespace

void add_sequence_flags(CLI::App& app, SequenceFlags& flags) {
  ShortHelp first{.flags = flags_so_far(app)};
  add_fields<tasks::SequenceRunConfig>(app, {.title = "Texts"}, flags.task.run);
  add_generation_flags(app, flags.generation);
  add_on_error_flag(app, flags.task);
  add_encoder_flags(app, flags.task.encoder);
  add_result_file(app, flags.task);
  add_json_flag(app, flags.task.json);
  for (const char* flag :
       {"--num-beams", "--max-new-tokens", "--batch-size", "--out", "--dtype", "--threads", "--json"}) {
    first.flags.emplace_back(flag);
  }
  show_first(app, first);
}

OpenSequenceTask open_sequence_task(const SequenceFlags& flags, bool whole, const std::string& command) {
  check_sequence_source(flags, whole);
  return open_sequence_task(flags, checkpoint::open_model(flags.task.directory), command);
}

OpenSequenceTask open_sequence_task(const SequenceFlags& flags, const checkpoint::OpenedModel& directory,
                                    const std::string& command) {
  directory.need(checkpoint::Ability::kWrite);
  tasks::SequenceRunConfig config;
  formats::update_from_json(config, flags.task.run, command);
  const generation::GenerationConfig settings =
      tasks::with_length(generation_settings(flags.generation, directory, command), directory);
  OpenSequenceTask task;
  task.run.batch = {config.batch_size, config.batch_tokens};
  if (flags.generation.print_settings) {
    print_json(formats::to_json(settings));
    return task;
  }
  check_result(flags, settings);
  check_settings(settings, flags.generation, directory, command);
  tasks::SequenceModelOptions options =
      tasks::sequence_options(encoder_settings(flags.task.encoder, command, directory.path()), settings);
  options.max_length = config.max_source_length;
  task.model = tasks::open_sequence_model(directory, options);
  return task;
}

void run_sequence_task(const SequenceFlags& flags, const tasks::RunOptions& run, bool whole, const RunOnDocuments& task,
                       const std::string& field) {
  const TextSource& source = flags.source;
  const ResultForm form = sequence_form(flags, whole, field);
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
