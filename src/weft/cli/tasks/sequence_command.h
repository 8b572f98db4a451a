// SPDX-License-Identifier: Apache-2.0
// What `weft translate` and `weft summarize` share: an encoder-decoder directory, the settings of its search, and how
// texts are put together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/App.hpp>

#include "weft/cli/generation/settings_flags.h"
#include "weft/cli/tasks/task_command.h"
#include "weft/tasks/sequences/sequence_model.h"

namespace weft::cli {

struct SequenceFlags {
  TaskFlags task;
  GenerationFlags generation;
  TextSource source;
};

/// Adds the flags above, those of generation and of the encoder, --out and --json.
void add_sequence_flags(CLI::App& app, SequenceFlags& flags);

/// Errors: UsageError for flags about texts, and about the file of results, that contradict each other; `whole`: a file
/// is one text.
void check_sequence_source(const SequenceFlags& flags, bool whole);

/// The model of `directory`, which is that of `flags`, opened for `command`, and its batches; without one where only
/// its settings are to be printed, which is done here then. `whole`: a file is one text. Errors: UsageError for flags
/// that contradict each other, before a weight is read; those of the model.
struct OpenSequenceTask {
  std::optional<tasks::SequenceModel> model;
  tasks::RunOptions run;
};
OpenSequenceTask open_sequence_task(const SequenceFlags& flags, const checkpoint::OpenedModel& directory,
                                    const std::string& command);
OpenSequenceTask open_sequence_task(const SequenceFlags& flags, bool whole, const std::string& command);

/// Runs `task` over the texts of the source (run_on_texts), or with `whole` over its file as one text, and shows
/// `field` of each result: a line each, in which line breaks of the result are blanks, unless there is only one text.
/// Errors: those of both.
void run_sequence_task(const SequenceFlags& flags, const tasks::RunOptions& run, bool whole, const RunOnDocuments& task,
                       const std::string& field);

}  // namespace weft::cli
