// SPDX-License-Identifier: Apache-2.0
// A reader's records one after another, where whoever looks at a record may find it malformed, too.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/fine_tuning/settings.h"
#include "weft/readers/file_list.h"
#include "weft/readers/input/file_kind.h"
#include "weft/readers/reader.h"
#include "weft/tasks/text_too_long.h"

namespace weft::fine_tuning {

/// What a malformed record does.
inline readers::ReadOptions read_options(const DataSettings& data) {
  return {.skip_malformed = data.on_error == "skip"};
}

/// Calls visit(record) for every record and adds to `report`. A MalformedRecord that `visit` throws is one of the
/// reader's own: an error, or skipped and counted by `options`; so is a text that its model cannot take.
template <typename ReaderType, typename Visit>
void read_records(ReaderType& reader, const readers::ReadOptions& options, const Visit& visit,
                  readers::ReadReport& report) {
  const auto note = [&report](std::int64_t count, const std::string& first) {
    report.first_skipped = report.skipped == 0 && count > 0 ? first : report.first_skipped;
    report.skipped += count;
  };
  typename ReaderType::Record record;
  while (reader.next(record)) {
    try {
      visit(record);
      ++report.records;
    } catch (const readers::MalformedRecord& error) {
      if (!options.skip_malformed) {
        throw;
      }
      note(1, error.what());
    } catch (const tasks::UnfitText& error) {
      if (!options.skip_malformed) {
        throw;
      }
      note(1, error.what());
    }
  }
  note(reader.report().skipped, reader.report().first_skipped);
}

/// What a file is for a task that reads `known`, formats with blanks between: what `data` says, else what
/// readers::decide_kind() does, with the fields that `data` names to look for. What says nothing by its content and
/// little by its name is the first of `known`, whose reader then says what is wrong. Errors: kFormat naming the file,
/// what it is and what is read, where it is something else; as decide_kind().
readers::FileKind kind_for(const std::filesystem::path& file, const DataSettings& data, std::string_view known);

/// read_records() of *open(file, format, options) for each file of `paths`, which kind_for() knows; visit(record, file)
/// has the file's path.
template <typename Open, typename Visit>
void read_each(const std::vector<std::string>& paths, const DataSettings& data, std::string_view known,
               const Open& open, const Visit& visit, readers::ReadReport& report) {
  const readers::ReadOptions options = read_options(data);
  for (const std::filesystem::path& path : readers::list_files(paths)) {
    const readers::FileKind kind = kind_for(path, data, known);
    ++report.kinds[readers::kind_text(kind)];
    const auto reader = open(path, kind.format, options);
    read_records(*reader, options, [&](const auto& record) { visit(record, path); }, report);
  }
}

}  // namespace weft::fine_tuning
