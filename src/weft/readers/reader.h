// SPDX-License-Identifier: Apache-2.0
// What all readers of records share: one record after another, and what happens to one that is malformed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/error.h"

namespace weft::readers {

/// How a file is read.
struct ReadOptions {
  bool skip_malformed = false;                 ///< `--on-error skip`: count a malformed record and go on behind it
  std::uint64_t max_record_bytes = 256 << 20;  ///< a longer record is an error, also when malformed ones are skipped
};

/// A record that breaks the rules of its format; the reader stands behind it. An Error of kind kFormat.
class MalformedRecord : public Error {
 public:
  explicit MalformedRecord(const std::string& message, std::string hint = {})
      : Error(ErrorKind::kFormat, message, std::move(hint)) {}
};

/// Throws MalformedRecord; the first of `parts` says file and line.
template <typename... Parts>
[[noreturn]] void malformed(const Parts&... parts) {
  throw MalformedRecord(concat(parts...));
}

/// What `open()` gives. A file that cannot be read as what it should be (no text, compressed otherwise, damaged) is one
/// malformed record, so that who skips those goes on with the next file. Errors: MalformedRecord for any kFormat error.
template <typename Open>
auto open_or_malformed(Open&& open) {
  try {
    return open();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kFormat) {
      throw MalformedRecord(error.what(), error.hint());
    }
    throw;
  }
}

/// What came of reading.
struct ReadReport {
  std::int64_t records = 0;
  std::int64_t skipped = 0;
  std::string first_skipped;                       ///< what was wrong with the first that was skipped
  std::map<std::string, std::int64_t> kinds = {};  ///< of the files, as kind_text() has it, where a caller counts them
};

/// One record after another out of a file. Derived classes override read() and are final.
template <typename RecordType>
class Reader {
 public:
  using Record = RecordType;

  explicit Reader(const ReadOptions& options) : options_(options) {}
  virtual ~Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// The next record, or false at the end. Errors: kFormat that names file and line, unless malformed records are
  /// skipped; kIo.
  bool next(Record& record) {
    while (true) {
      try {
        const bool found = read(record);
        report_.records += found ? 1 : 0;
        return found;
      } catch (const MalformedRecord& error) {
        if (!options_.skip_malformed) {
          throw;
        }
        report_.first_skipped = report_.skipped++ == 0 ? error.what() : std::move(report_.first_skipped);
      }
    }
  }
  const ReadReport& report() const noexcept { return report_; }

 protected:
  /// As next(); throws MalformedRecord once it stands behind a record that is none.
  virtual bool read(Record& record) = 0;
  const ReadOptions& options() const noexcept { return options_; }
  /// Counts a file in the report.
  void note_kind(const std::string& kind) { ++report_.kinds[kind]; }

 private:
  ReadOptions options_;
  ReadReport report_;
};

/// Calls visit(record) for every record of every file and returns the reports' sum. `open(path)` makes a reader.
template <typename Open, typename Visit>
ReadReport for_each_record(const std::vector<std::filesystem::path>& files, Open&& open, Visit&& visit) {
  ReadReport total;
  for (const std::filesystem::path& file : files) {
    auto reader = open(file);
    typename std::remove_reference_t<decltype(*reader)>::Record record;
    while (reader->next(record)) {
      visit(record);
    }
    total.records += reader->report().records;
    total.first_skipped = total.skipped == 0 ? reader->report().first_skipped : total.first_skipped;
    total.skipped += reader->report().skipped;
  }
  return total;
}

}  // namespace weft::readers
