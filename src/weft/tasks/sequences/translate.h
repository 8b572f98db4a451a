// SPDX-License-Identifier: Apache-2.0
// Translation of texts of any length: sentence by sentence, so that a document keeps its blank lines and none of its
// sentences is lost.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/tasks/documents.h"
#include "weft/tasks/sequences/segments.h"
#include "weft/tasks/sequences/writer.h"
#include "weft/tasks/task_run.h"

namespace weft::tasks {

struct TranslateOptions {
  std::optional<std::string> code = {};  ///< language_code(); nothing where the model has one pair of languages, or
                                         ///< each text says it itself
  SplitText split;  ///< sentences of a document; empty: a text is translated whole, and must not be too long
  BatchLimits batch = {};
};

/// For each document `[{"translation_text", "sentences": [{"source", "translation", "start", "end", "parts"}]}]`, one
/// element for each text that the model's settings ask for; `start` and `end` count code points of the document, and
/// `parts` says that a sentence was too long and translated in so many parts. Metadata: {"tokens", "sentences",
/// "divided" (sentences in parts), "incomplete" (those whose translation ends at the longest length)} and what was
/// computed. Errors: those of the tokeniser and the search; kArgument naming a document that is too
/// long to be translated whole, or that names no language where the model has several.
std::vector<TaskResult> translate(const SequenceModel& model, std::span<const Document> documents,
                                  const TranslateOptions& options);

}  // namespace weft::tasks
