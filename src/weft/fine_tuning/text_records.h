// SPDX-License-Identifier: Apache-2.0
// Labelled texts out of files of any form that classifiers are trained on: tables, JSON lines, text files in folders
// that are named after their class, FASTA with a class a file.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/fine_tuning/settings.h"
#include "weft/readers/reader.h"
#include "weft/tasks/documents.h"

namespace weft::fine_tuning {

/// A text and what is said of it. The document's name is file and line, for messages.
struct TextRecord {
  tasks::Document document;
  std::vector<std::string> labels;  ///< those that apply; just one where a record has one label
  std::vector<std::string> absent;  ///< of several labels: those that the record says do not apply
};

/// How many labels a record has.
enum class LabelCount { kOne, kSeveral };

/// Calls visit(record) for every record of `paths`, in their order. A record whose label is missing or of a wrong form
/// is malformed: an error that names file and line, or skipped and counted. Errors: kIo; kFormat; kArgument for a
/// column that a table does not have, naming those it has.
readers::ReadReport read_text_records(const std::vector<std::string>& paths, const DataSettings& settings,
                                      LabelCount count, const std::function<void(const TextRecord&)>& visit);

}  // namespace weft::fine_tuning
