// SPDX-License-Identifier: Apache-2.0
// Which languages a model translates, and what a user asked for: checked, for one clear line where they do not fit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/tasks/sequences/writer.h"
#include "weft/text/pair/languages.h"

namespace weft::tasks {

/// The `>>xx<<` of the language `target` ("fr" or ">>fr<<"), or nothing where that is empty or the model has no codes.
/// Errors: kArgument naming the model and its languages, for one that it does not have and for another `source` than
/// the one that its directory names.
std::optional<std::string> language_code(const SequenceModel& model, const std::string& source,
                                         const std::string& target);

/// The frame of sources in the language `source`, and the language that the targets are in, of a model whose frames
/// name languages; empty: those that its files name.
struct AskedLanguages {
  text::Frame frame;
  TargetLanguage target;
};
/// Nothing for a model whose frames name none. Errors: kArgument naming the model and its languages, for one that it
/// does not have, and where nothing says what to write.
std::optional<AskedLanguages> framed_languages(const SequenceModel& model, const std::string& source,
                                               const std::string& target);

/// The code of `codes` that `text` begins with, perhaps behind blanks, or nothing.
std::string own_code(const std::string& text, const std::vector<std::string>& codes);

/// Where the text begins behind its own `code` and the blanks around it; 0 for no code.
std::size_t behind_code(const std::string& text, const std::string& code);

/// Errors: kArgument naming `name`, the code and those that there are, for a source text that begins with a
/// `>>xx<<` that the model lacks, where the tokeniser would make the unknown token of it.
void check_own_code(const SequenceModel& model, const std::string& text, const std::string& name);

/// The languages of `codes`, the first dozen, for a message: "'de', 'fr'".
std::string some_codes(const std::vector<std::string>& codes);
/// The same of a model whose frames name languages.
std::string some_languages(const text::FramedLanguages& known);

}  // namespace weft::tasks
