// SPDX-License-Identifier: Apache-2.0
// What the commands of tasks share: texts in, one result a line out, in the order of the texts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "weft/cli/tasks/encoder_flags.h"
#include "weft/cli/tasks/text_input.h"
#include "weft/tasks/results/result_file.h"
#include "weft/tasks/results/visit.h"
#include "weft/tasks/task_run.h"

namespace weft::cli {

/// The options that every task has.
struct TaskFlags {
  std::string directory;
  EncoderFlags encoder;
  formats::Json run = formats::Json::object();
  std::string out;  ///< file of results; empty: stdout
  bool json = false;
  std::string on_error = "fail";  ///< or "skip": a record without a result has its error, and the others go on
};

/// Adds DIR. Call it before arguments of the command's own.
void add_task_directory(CLI::App& app, TaskFlags& flags);
/// Adds the flags above. `windowed`: the task goes over long texts in windows, and has --stride.
void add_task_flags(CLI::App& app, TaskFlags& flags, bool windowed);

/// What the flags amount to: how a model is opened, and how it is run.
struct TaskOptions {
  tasks::TaskModelOptions model;
  tasks::RunOptions run;
};
/// Errors: those of encoder_settings() and check_result_path().
TaskOptions task_options(const TaskFlags& flags, std::optional<models::Head> head, const std::string& command);

using tasks::OpenTask;
OpenTask open_task(const TaskFlags& flags, std::optional<models::Head> head, const std::string& command);
/// The same for whoever has opened the directory that `flags` name.
OpenTask open_task(const TaskFlags& flags, const checkpoint::OpenedModel& directory, std::optional<models::Head> head,
                   const std::string& command);

/// How a result looks to a person: one line, without its end.
using ResultLine = std::function<std::string(const formats::Json& result)>;
/// A result as columns of a table, names and values.
using ResultColumns = std::function<formats::Json(const formats::Json& result)>;
using tasks::RunOnDocuments;
using tasks::visit_documents;
using tasks::VisitError;
using tasks::VisitResult;

/// The forms of a command's results.
struct ResultForm {
  ResultLine line;
  ResultColumns columns = {};  ///< what --out FILE holds beside the records that were read
  bool is_text = false;        ///< the line is a text that a model wrote, as it is
};

/// Adds --on-error.
void add_on_error_flag(CLI::App& app, TaskFlags& flags);

/// tasks::check_result_path(). Errors: UsageError.
void check_result_path(const std::string& path);

/// Adds --out FILE, for a command that gives columns.
void add_result_file(CLI::App& app, TaskFlags& flags);

/// Whether the fields of a record are written beside its result.
bool writes_fields(const TaskFlags& flags);

/// tasks::visit_results() over all documents of `source`; `keep_fields` as in DocumentReader. Errors: those of
/// check_source(); kIo where standard output takes no more.
void visit_results(const TextSource& source, const tasks::RunOptions& run, const RunOnDocuments& task,
                   const VisitResult& visit, bool keep_fields = false, const VisitError& on_error = {});

/// Says on stderr what a person who sees only the result should know: what was cut, or read in windows.
void say_what_was_done(const formats::Json& metadata, const std::string& name);

/// Hands on results, or errors where these are skipped: to the file that --out names, else a line each to stdout,
/// {"result", "metadata"} with --json, and "fields" where a record has others than its texts. Without --json
/// say_what_was_done() too.
class ResultSink {
 public:
  /// Errors: as ResultFile. `flags` must outlive the sink.
  ResultSink(const TaskFlags& flags, ResultForm form);

  void take(const tasks::TaskResult& result, const tasks::Document& document);
  /// The record's error in place of its result: {"error", "fields"} with --json, an empty line without, in a file the
  /// record with a column `error`. note_error() too.
  void take_error(const std::string& message, const tasks::Document& document);
  /// Counts a result, and an error, that the caller writes itself; the first ten errors are said on stderr.
  void count_result() { ++results_; }
  void note_error(const std::string& message);
  /// take() of what `task` gives; with --on-error skip take_error() where it fails for the record's sake.
  void take_from(const std::function<tasks::TaskResult()>& task, const tasks::Document& document);
  /// take_error() with --on-error skip; nothing without, where errors end the command.
  VisitError errors();
  bool skips() const { return flags_.on_error == "skip"; }
  /// The file appears; with --json a line says what it holds. Errors: kFormat with their number where records had
  /// errors, once all is written.
  void finish();

 private:
  const TaskFlags& flags_;
  ResultForm form_;
  std::optional<tasks::ResultFile> file_;
  std::int64_t results_ = 0;
  std::int64_t errors_ = 0;
  std::string first_error_;
};

/// Runs `task` over all documents of `source` into a ResultSink.
void run_on_texts(const TextSource& source, const TaskFlags& flags, const tasks::RunOptions& run,
                  const RunOnDocuments& task, const ResultForm& form);

}  // namespace weft::cli
