// SPDX-License-Identifier: Apache-2.0
// What tests of readers share: all records of a text, and gzip files.
#pragma once

#include <zlib.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "data/text_files.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/readers/reader.h"

namespace weft::test {

/// Appends `text` to `path` as a gzip member of its own.
inline void append_gzip(const std::filesystem::path& path, std::string_view text) {
  gzFile file = gzopen(path.c_str(), "ab");
  ASSERT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  ASSERT_EQ(gzclose(file), Z_OK);
}

/// Every record that `reader` gives.
template <typename Record>
std::vector<Record> all_records(readers::Reader<Record>& reader) {
  std::vector<Record> records;
  Record record;
  while (reader.next(record)) {
    records.push_back(record);
  }
  return records;
}

/// A malformed record is an error with `words` in it, and is skipped and counted when that is asked for: `records` are
/// left. `open(options)` makes a reader over the same file.
template <typename Open>
void expect_malformed(const Open& open, std::initializer_list<std::string_view> words, std::int64_t skipped,
                      std::size_t records) {
  const std::string message = expect_error(ErrorKind::kFormat, words, [&] { all_records(*open({})); });
  auto reader = open(readers::ReadOptions{.skip_malformed = true});
  EXPECT_EQ(all_records(*reader).size(), records);
  EXPECT_EQ(reader->report().records, static_cast<std::int64_t>(records));
  EXPECT_EQ(reader->report().skipped, skipped);
  EXPECT_EQ(reader->report().first_skipped, message);
}

}  // namespace weft::test
