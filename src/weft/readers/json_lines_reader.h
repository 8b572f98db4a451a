// SPDX-License-Identifier: Apache-2.0
// JSON lines: one JSON object a line, empty lines left out.
#pragma once

#include <cstdint>
#include <filesystem>

#include "weft/formats/config_json.h"
#include "weft/readers/reader.h"
#include "weft/readers/text_source.h"

namespace weft::readers {

/// An object and its line.
struct JsonRecord {
  formats::Json object;
  std::int64_t line = 0;
};

/// Malformed: a line that is no JSON object (formats::parse_json's rules).
class JsonLinesReader final : public Reader<JsonRecord> {
 public:
  explicit JsonLinesReader(const std::filesystem::path& path, const ReadOptions& options = {});
  explicit JsonLinesReader(ByteSource bytes, const ReadOptions& options = {});

 protected:
  bool read(JsonRecord& record) override;

 private:
  TextSource source_;
};

/// The string at `name`. Errors: MalformedRecord that names `where` and the field when it is missing or no string.
std::string string_field(const formats::Json& object, const std::string& name, const std::string& where);

/// "number '17.0'": what a value is, and the value itself where it is neither a list nor an object, bounded and quoted.
std::string found_text(const formats::Json& value);

/// The whole number at `name`. Errors: as string_field, also for one that 64 bits with a sign do not hold.
std::int64_t whole_number_field(const formats::Json& object, const std::string& name, const std::string& where);

}  // namespace weft::readers
