// SPDX-License-Identifier: Apache-2.0
// A task over many documents: some at a time, each result with its document, and an error of one record apart from the
// results of the others.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/tasks/input/text_source.h"
#include "weft/tasks/task_run.h"

namespace weft::tasks {

using RunOnDocuments = std::function<std::vector<TaskResult>(std::span<const Document>)>;
using VisitResult = std::function<void(const TaskResult& result, const Document& document)>;
/// What becomes of a record that has no result; a document without fields and text where it could not be read.
using VisitError = std::function<void(const std::string& message, const Document& document)>;

/// Whether an error is one record's and the others may have results: its text or its form, and neither the model's
/// numbers, a file nor an interrupt.
bool is_of_record(const Error& error);

/// Runs `task` over documents together and hands on each result with its document. With `on_error`, records whose own
/// errors these are (is_of_record) go there, in their order: the others are run again without them. Errors: the task's;
/// without `on_error` the hint about one of several records names the option on_error.
void visit_documents(std::span<const Document> documents, const RunOnDocuments& task, const VisitResult& visit,
                     const VisitError& on_error);

/// Who is told what of a run over many documents.
struct Visits {
  VisitResult result;
  VisitError error = {};            ///< see visit_documents(); also of records that could not be read
  std::function<void()> part = {};  ///< after the documents that were read together
};

/// visit_documents() over all that `reader` gives, some at a time.
void visit_results(DocumentReader& reader, const RunOptions& run, const RunOnDocuments& task, const Visits& visits);

}  // namespace weft::tasks
