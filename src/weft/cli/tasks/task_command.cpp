// SPDX-License-Identifier: Apache-2.0
// The loop over documents. Results of a part are printed before the next part is read.
#include "weft/cli/tasks/task_command.h"

#include <iostream>
#include <utility>

#include "weft/cli/field_flags.h"
#include "weft/cli/model_argument.h"
#include "weft/cli/output.h"
#include "weft/core/log.h"

namespace weft::cli {
namespace {

// Enough documents at once to find some of one length; one by one where each is to be answered as it comes.
std::size_t documents_at_once(const tasks::RunOptions& run) {
  constexpr std::int64_t kBatches = 32;
  return static_cast<std::size_t>(run.batch.rows == 1 ? 1 : run.batch.rows * kBatches);
}

}  // namespace

void add_task_directory(CLI::App& app, TaskFlags& flags) {
  add_model_argument(app, "DIR", flags.directory, "model directory").required();
}

void add_task_flags(CLI::App& app, TaskFlags& flags, bool windowed) {
  FlagGroup group{.title = "Texts"};
  if (!windowed) {
    group.left_out = {"stride"};
  }
  add_fields<TextRunConfig>(app, group, flags.run);
  add_encoder_flags(app, flags.encoder);
  add_json_flag(app, flags.json);
}

OpenTask open_task(const TaskFlags& flags, std::optional<models::Head> head, const std::string& command) {
  if (!flags.out.empty()) {
    check_result_path(flags.out);
  }
  TextRunConfig config;
  formats::update_from_json(config, flags.run, command);
  const EncoderSettings settings = encoder_settings(flags.encoder, command);
  tasks::TaskModelOptions options;
  options.head = head;
  options.encoder = settings.encoder;
  options.dtype = settings.dtype;
  options.check_finite = settings.check_finite;
  options.max_length = config.max_length;
  OpenTask task;
  task.model = tasks::open_task_model(flags.directory, options);
  task.run.truncate = config.truncate;
  task.run.stride = config.stride;
  task.run.batch = {config.batch_size, config.batch_tokens};
  return task;
}

bool writes_fields(const TaskFlags& flags) { return flags.json || !flags.out.empty(); }

void say_what_was_done(const formats::Json& metadata, const std::string& name) {
  const auto number = [&](const char* key) {
    const auto found = metadata.find(key);
    return found != metadata.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
  };
  if (number("truncated") > 0) {
    log_warning(name, ": ", number("tokens"), " tokens, of which the last ", number("truncated"), " were cut off");
  }
  if (number("divided") > 0) {
    log_warning(name, ": ", number("divided"), " of ", number("sentences"),
                " sentences are longer than the model reads, and were translated in parts");
  }
  if (number("incomplete") > 0) {
    log_warning(name, ": ", number("incomplete"),
                " texts end at the longest length of the settings, and perhaps too "
                "early; --max-new-tokens sets it");
  }
  if (number("windows") > 1) {
    log_warning(name, ": ", number("tokens"), " tokens, read in ", number("windows"), " windows");
  }
}

void add_result_file(CLI::App& app, TaskFlags& flags) {
  app.add_option("--out", flags.out,
                 "write the records that were read, with columns of the results, to FILE.jsonl, FILE.csv or FILE.tsv")
      ->option_text("FILE");
}

void visit_results(const TextSource& source, const tasks::RunOptions& run, const RunOnDocuments& task,
                   const VisitResult& visit, bool keep_fields) {
  DocumentReader reader(source, keep_fields);
  const std::size_t count = documents_at_once(run);
  for (auto documents = reader.next(count); !documents.empty(); documents = reader.next(count)) {
    const std::vector<tasks::TaskResult> results = task(documents);
    for (std::size_t i = 0; i < documents.size(); ++i) {
      visit(results[i], documents[i]);
    }
    std::cout.flush();
    if (!std::cout) {
      fail(ErrorKind::kIo, "writing to standard output failed");
    }
  }
}

ResultSink::ResultSink(const TaskFlags& flags, ResultForm form) : flags_(flags), form_(std::move(form)) {
  if (!flags.out.empty()) {
    file_.emplace(flags.out);
  }
}

void ResultSink::take(const tasks::TaskResult& result, const tasks::Document& document) {
  if (file_) {
    file_->add(document, form_.columns(result.result));
    say_what_was_done(result.metadata, document.name);
    return;
  }
  if (!flags_.json) {
    std::cout << form_.line(result.result) << '\n';
    say_what_was_done(result.metadata, document.name);
    return;
  }
  formats::Json line = {{"result", result.result}, {"metadata", result.metadata}};
  if (formats::Json fields = fields_beside_texts(document); !fields.is_null()) {
    line["fields"] = std::move(fields);
  }
  print_json(line);
}

void ResultSink::finish() {
  if (!file_) {
    return;
  }
  file_->commit();
  if (flags_.json) {
    print_json({{"rows", file_->rows()}, {"out", file_->path()}});
  }
}

void run_on_texts(const TextSource& source, const TaskFlags& flags, const tasks::RunOptions& run,
                  const RunOnDocuments& task, const ResultForm& form) {
  ResultSink sink(flags, form);
  visit_results(
      source, run, task,
      [&](const tasks::TaskResult& result, const tasks::Document& document) { sink.take(result, document); },
      writes_fields(flags));
  sink.finish();
}

}  // namespace weft::cli
