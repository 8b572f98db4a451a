// SPDX-License-Identifier: Apache-2.0
// A line at a time through the parser of formats/.
#include "weft/readers/json_lines_reader.h"

#include <utility>

#include "weft/core/quote.h"

namespace weft::readers {

JsonLinesReader::JsonLinesReader(const std::filesystem::path& path, const ReadOptions& options)
    : JsonLinesReader(ByteSource(path), options) {}

JsonLinesReader::JsonLinesReader(ByteSource bytes, const ReadOptions& options)
    : Reader(options), source_(std::move(bytes), options) {}

bool JsonLinesReader::read(JsonRecord& record) {
  std::string line;
  do {
    source_.begin_record();
    if (!source_.next_line(line)) {
      return false;
    }
  } while (line.find_first_not_of(" \t") == std::string::npos);
  record.line = source_.line();
  try {
    record.object = formats::parse_json(line, source_.where());
  } catch (const Error& error) {
    malformed(error.what());
  }
  if (!record.object.is_object()) {
    malformed(source_.where(), ": expected a JSON object, found an item of type ", record.object.type_name());
  }
  return true;
}

std::string found_text(const formats::Json& value) {
  std::string type = value.type_name();
  return value.is_structured() || value.is_null()
             ? type
             : concat(type, " ", quote(value.dump(-1, ' ', false, formats::Json::error_handler_t::replace)));
}

std::string string_field(const formats::Json& object, const std::string& name, const std::string& where) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (found == object.end() || !found->is_string()) {
    malformed(where, ": expected a string at '", name, "', found ",
              found == object.end() ? "none" : found_text(*found));
  }
  return found->get<std::string>();
}

std::int64_t whole_number_field(const formats::Json& object, const std::string& name, const std::string& where) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (found == object.end() || !found->is_number_integer()) {
    malformed(where, ": expected a whole number at '", name, "', found ",
              found == object.end() ? "none" : found_text(*found));
  }
  if (found->is_number_unsigned() && !std::in_range<std::int64_t>(found->get<std::uint64_t>())) {
    malformed(where, ": expected a whole number below 2^63 at '", name, "', found ", found->dump());
  }
  return found->get<std::int64_t>();
}

}  // namespace weft::readers
