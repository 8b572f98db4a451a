// SPDX-License-Identifier: Apache-2.0
// A reader's records one after another, where whoever looks at a record may find it malformed, too.
#pragma once

#include "weft/readers/reader.h"

namespace weft::fine_tuning {

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

}  // namespace weft::fine_tuning
