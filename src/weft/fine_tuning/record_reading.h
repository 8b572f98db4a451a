// SPDX-License-Identifier: Apache-2.0
// A reader's records one after another, where whoever looks at a record may find it malformed, too.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "weft/core/quote.h"
#include "weft/fine_tuning/settings.h"
#include "weft/readers/file_list.h"
#include "weft/readers/reader.h"

namespace weft::fine_tuning {

/// What a malformed record does.
inline readers::ReadOptions read_options(const DataSettings& data) {
  return {.skip_malformed = data.on_error == "skip"};
}

/// Calls visit(record) for every record and adds to `report`. A MalformedRecord that `visit` throws is one of the
/// reader's own: an error, or skipped and counted by `options`.
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
    }
  }
  note(reader.report().skipped, reader.report().first_skipped);
}

/// read_records() of the reader open(file, options) for each file of `paths`; visit(record, file) has the file's name
/// in quotes.
template <typename Open, typename Visit>
void read_each(const std::vector<std::string>& paths, const DataSettings& data, const Open& open, const Visit& visit,
               readers::ReadReport& report) {
  const readers::ReadOptions options = read_options(data);
  for (const std::filesystem::path& path : readers::list_files(paths)) {
    auto reader = open(path, options);
    const std::string file = quote(path.native(), 4096);
    read_records(reader, options, [&](const auto& record) { visit(record, file); }, report);
  }
}

}  // namespace weft::fine_tuning
