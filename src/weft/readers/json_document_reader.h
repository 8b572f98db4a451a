// SPDX-License-Identifier: Apache-2.0
// JSON objects that are not one a line: those of an array, or one behind the other, each over any number of lines, as
// pandas, jq and many programs write them.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "weft/readers/json_lines_reader.h"
#include "weft/readers/json_walker.h"
#include "weft/readers/reader.h"

namespace weft::readers {

/// A file (plain or gzip), one object in memory at a time. Malformed: an item that is no JSON object. JSON whose
/// brackets are broken ends the reading, also when malformed records are skipped.
class JsonDocumentReader final : public Reader<JsonRecord> {
 public:
  explicit JsonDocumentReader(const std::filesystem::path& path, const ReadOptions& options = {});
  explicit JsonDocumentReader(ByteSource bytes, const ReadOptions& options = {});

 protected:
  bool read(JsonRecord& record) override;

 private:
  bool next_item();

  JsonWalker walker_;
  bool begun_ = false;
  bool array_ = false;
};

/// The reader of `format`, "jsonl" or "json". Errors: as the reader.
std::unique_ptr<Reader<JsonRecord>> open_json_records(ByteSource bytes, std::string_view format,
                                                      const ReadOptions& options = {});

}  // namespace weft::readers
