// SPDX-License-Identifier: Apache-2.0
// Labelled texts out of files of any form that classifiers are trained on: tables, JSON lines, text files in folders
// that are named after their class, FASTA with a class a file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/fine_tuning/settings.h"
#include "weft/formats/config_json.h"
#include "weft/readers/reader.h"
#include "weft/tasks/documents.h"

namespace weft::fine_tuning {

/// A text and what is said of it. The document's name is file and line, for messages.
struct TextRecord {
  tasks::Document document;
  std::string file;                 ///< as it was named, or found in a folder
  std::int64_t line = 0;            ///< of the file, from 1
  formats::Json id = nullptr;       ///< the record's column or field "id", a FASTA record's name; null without one
  std::vector<std::string> labels;  ///< those that apply; just one where a record has one label
  std::vector<std::string> absent;  ///< of several labels: those that the record says do not apply
};

/// {"file", "line", "id" where it has one, "text", "text_pair" where it has one}: where a record is from.
formats::Json origin_of(const TextRecord& record);

/// How many labels a record has.
enum class LabelCount { kOne, kSeveral };

/// Calls visit(record) for every record of `paths`, in their order. A record whose label is missing or of a wrong form
/// is malformed: an error that names file and line, or skipped and counted. Errors: kIo; kFormat; kArgument for a
/// column that a table does not have, naming those it has.
readers::ReadReport read_text_records(const std::vector<std::string>& paths, const DataSettings& settings,
                                      LabelCount count, const std::function<void(const TextRecord&)>& visit);

}  // namespace weft::fine_tuning
