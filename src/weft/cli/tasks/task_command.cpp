// SPDX-License-Identifier: Apache-2.0
// Results of a part are printed before the next part is read.
#include "weft/cli/tasks/task_command.h"

#include <iostream>
#include <utility>

#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/model_argument.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/printing/visible_output.h"
#include "weft/cli/front/short_help.h"
#include "weft/core/log.h"
#include "weft/tasks/parameters/text_run.h"

namespace weft::cli {
void add_task_directory(CLI::App& app, TaskFlags& flags) {
  add_model_argument(app, "DIR", flags.directory, "model directory").required();
}

void add_task_flags(CLI::App& app, TaskFlags& flags, bool windowed) {
  ShortHelp first{.flags = flags_so_far(app)};
  FlagGroup group{.title = "Texts"};
  if (!windowed) {
    group.left_out = {"stride"};
  }
  add_fields<tasks::TextRunConfig>(app, group, flags.run);
  add_on_error_flag(app, flags);
  add_encoder_flags(app, flags.encoder);
  add_json_flag(app, flags.json);
  for (const char* flag : {"--max-length", "--batch-size", "--truncate", "--dtype", "--threads", "--json"}) {
    first.flags.emplace_back(flag);
  }
  show_first(app, first);
}

TaskOptions task_options(const TaskFlags& flags, std::optional<models::Head> head, const std::string& command) {
  if (!flags.out.empty()) {
    check_result_path(flags.out);
  }
  tasks::TextRunConfig config;
  formats::update_from_json(config, flags.run, command);
  TaskOptions options;
  options.model = tasks::model_options(encoder_settings(flags.encoder, command, flags.directory));
  options.model.head = head;
  options.model.max_length = config.max_length;
  options.run = tasks::run_options(config);
  return options;
}

OpenTask open_task(const TaskFlags& flags, std::optional<models::Head> head, const std::string& command) {
  const TaskOptions options = task_options(flags, head, command);
  return {tasks::open_task_model(flags.directory, options.model), options.run};
}

OpenTask open_task(const TaskFlags& flags, const checkpoint::OpenedModel& directory, std::optional<models::Head> head,
                   const std::string& command) {
  const TaskOptions options = task_options(flags, head, command);
  return {tasks::open_task_model(directory, options.model), options.run};
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

void add_on_error_flag(CLI::App& app, TaskFlags& flags) {
  app.add_option(
         "--on-error", flags.on_error,
         "what a record does that has no result, because it is too long, say: fail ends the command, skip gives "
         "it an error in place of a result and goes on; their number is said at the end, with exit code 1 "
         "(default fail)")
      ->check(one_of("--on-error", {"fail", "skip"}))
      ->option_text("NAME");
}

void check_result_path(const std::string& path) {
  try {
    tasks::check_result_path(path);
  } catch (const Error& error) {
    throw UsageError(error.what(), error.hint());
  }
}

void add_result_file(CLI::App& app, TaskFlags& flags) {
  app.add_option("--out", flags.out,
                 "write the records that were read, with columns of the results, to FILE.jsonl, FILE.csv or FILE.tsv")
      ->option_text("FILE");
}

void visit_results(const TextSource& source, const tasks::RunOptions& run, const RunOnDocuments& task,
                   const VisitResult& visit, bool keep_fields, const VisitError& on_error) {
  check_source(source);
  DocumentReader reader(source, keep_fields);
  const auto flush = [] {
    std::cout.flush();
    if (!std::cout) {
      fail(ErrorKind::kIo, "writing to standard output failed");
    }
  };
  tasks::visit_results(reader, run, task, {.result = visit, .error = on_error, .part = flush});
}

ResultSink::ResultSink(const TaskFlags& flags, ResultForm form) : flags_(flags), form_(std::move(form)) {
  if (!flags.out.empty()) {
    file_.emplace(flags.out, skips());
  }
}

void ResultSink::take(const tasks::TaskResult& result, const tasks::Document& document) {
  ++results_;
  if (file_) {
    file_->add(document, form_.columns(result.result));
    say_what_was_done(result.metadata, document.name);
    return;
  }
  if (!flags_.json) {
    const std::string line = form_.line(result.result);
    if (form_.is_text) {
      print_text(line.ends_with('\n') ? line : line + "\n");  // a whole file has its line end already
    } else {
      std::cout << line << '\n';
    }
    say_what_was_done(result.metadata, document.name);
    return;
  }
  formats::Json line = {{"result", result.result}, {"metadata", result.metadata}};
  if (formats::Json fields = tasks::fields_beside_texts(document); !fields.is_null()) {
    line["fields"] = std::move(fields);
  }
  print_json(line);
}

void ResultSink::note_error(const std::string& message) {
  constexpr std::int64_t kMostSaid = 10;
  first_error_ = errors_ == 0 ? message : first_error_;
  if (++errors_ <= kMostSaid) {
    log_warning(message, errors_ == kMostSaid ? "; errors of further records are only counted here" : "");
  }
}

void ResultSink::take_error(const std::string& message, const tasks::Document& document) {
  note_error(message);
  if (file_) {
    file_->add_error(document, message);
  } else if (flags_.json) {
    formats::Json line = {{"error", message}};
    if (formats::Json fields = tasks::fields_beside_texts(document); !fields.is_null()) {
      line["fields"] = std::move(fields);
    }
    print_json(line);
  } else {
    std::cout << '\n';
  }
}

void ResultSink::take_from(const std::function<tasks::TaskResult()>& task, const tasks::Document& document) {
  tasks::TaskResult result;
  try {
    result = task();
  } catch (const Error& error) {
    if (!skips() || !tasks::is_of_record(error)) {
      throw;
    }
    take_error(error.what(), document);
    return;
  }
  take(result, document);
}

VisitError ResultSink::errors() {
  if (!skips()) {
    return {};
  }
  return [this](const std::string& message, const tasks::Document& document) { take_error(message, document); };
}

void ResultSink::finish() {
  if (file_) {
    file_->commit();
    if (flags_.json) {
      print_json({{"rows", file_->rows()}, {"out", file_->path()}});
    }
  }
  if (errors_ > 0) {
    std::cout.flush();
    fail(ErrorKind::kFormat, errors_, " of ", results_ + errors_, " records have an error in place of a result; the ",
         "first: ", first_error_);
  }
}

void run_on_texts(const TextSource& source, const TaskFlags& flags, const tasks::RunOptions& run,
                  const RunOnDocuments& task, const ResultForm& form) {
  ResultSink sink(flags, form);
  visit_results(
      source, run, task,
      [&](const tasks::TaskResult& result, const tasks::Document& document) { sink.take(result, document); },
      writes_fields(flags), sink.errors());
  sink.finish();
}

}  // namespace weft::cli
