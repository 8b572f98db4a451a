// SPDX-License-Identifier: Apache-2.0
// The texts of a task on a command line: arguments, --file or standard input.
#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "weft/tasks/documents.h"
#include "weft/tasks/input/text_source.h"

namespace weft::cli {

using tasks::are_texts;
using tasks::check_one_source;
using tasks::check_source;
using tasks::DocumentReader;
using tasks::TextSource;

/// Adds --header and --no-header.
void add_header_flag(CLI::App& app, readers::InputTextOptions& reading);

/// Adds the arguments TEXT..., --file with --format and --text-field, and --pairs with --pair-field where a task knows
/// what to do with two texts.
void add_text_arguments(CLI::App& app, TextSource& source, bool with_pairs);

/// tasks::whole_files(). Errors: UsageError for a terminal as standard input; as there.
std::vector<tasks::Document> whole_files(const std::vector<std::string>& paths, const tasks::LookAtFile& look = {});

/// The arguments as documents where they are texts, else whole files, or standard input where `paths` is empty. Errors:
/// as whole_files().
std::vector<tasks::Document> whole_documents(const std::vector<std::string>& arguments,
                                             const std::vector<std::string>& paths, const tasks::LookAtFile& look = {});

}  // namespace weft::cli
