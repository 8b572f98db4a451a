// SPDX-License-Identifier: Apache-2.0
// Translation of texts of any length: sentence by sentence, so that a document keeps its blank lines and none of its
// sentences is lost.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/tasks/documents.h"
#include "weft/tasks/sequences/languages.h"
#include "weft/tasks/sequences/segments.h"
#include "weft/tasks/sequences/writer.h"
#include "weft/tasks/task_run.h"

namespace weft::tasks {

/// Called with each stretch of a translation, in the order of the documents and of their text: `text` is the
/// translation of `source` with the white space before it (behind the last one also that after it), so that all texts
/// of a document joined are its translation. False ends the work.
using OnTranslated = std::function<bool(std::size_t document, std::string_view text, std::string_view source)>;

struct TranslateOptions {
  std::optional<std::string> code = {};  ///< language_code(); nothing where the model has one pair of languages, or
                                         ///< each text says it itself
  std::optional<AskedLanguages> languages = {};  ///< framed_languages()
  SplitText split;  ///< sentences of a document; empty: a text is translated whole, and must not be too long
  BatchLimits batch = {};
  OnTranslated on_translated = {};  ///< with it sentences are translated in their order, few at first
};

/// For each document `[{"translation_text", "sentences": [{"source", "translation", "start", "end", "parts"}]}]`, one
/// element for each text that the model's settings ask for; `start` and `end` count code points of the document, and
/// `parts` says that a sentence was too long and translated in so many parts. Metadata: {"tokens", "sentences",
/// "divided" (sentences in parts), "incomplete" (those whose translation ends at the longest length)} and what was
/// computed. Errors: those of the tokeniser and the search; kInterrupted where `on_translated` ends the work; kArgument
/// naming a document that is too long to be translated whole, or that names no language where the model has several.
std::vector<TaskResult> translate(const SequenceModel& model, std::span<const Document> documents,
                                  const TranslateOptions& options);

}  // namespace weft::tasks
