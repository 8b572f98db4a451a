// SPDX-License-Identifier: Apache-2.0
// The walker finds where an item ends; the parser of formats/ reads it.
#include "weft/readers/json_document_reader.h"

#include <utility>

namespace weft::readers {

JsonDocumentReader::JsonDocumentReader(const std::filesystem::path& path, const ReadOptions& options)
    : JsonDocumentReader(ByteSource(path), options) {}

JsonDocumentReader::JsonDocumentReader(ByteSource bytes, const ReadOptions& options)
    : Reader(options), walker_(std::move(bytes), options, "JSON") {}

// Whether another item follows, at which the walker stands then.
bool JsonDocumentReader::next_item() {
  if (!std::exchange(begun_, true) && walker_.begin() == '[') {
    walker_.enter('[');
    array_ = true;
  }
  if (!array_) {
    return walker_.begin() != TextSource::kEnd;
  }
  if (walker_.more(']')) {
    return true;
  }
  if (!walker_.at_end()) {
    walker_.broken("something follows the end of the array");
  }
  array_ = false;  // nothing but the end follows
  return false;
}

bool JsonDocumentReader::read(JsonRecord& record) {
  if (!next_item()) {
    return false;
  }
  record.line = walker_.source().next_line_number();
  const std::string item = walker_.raw_value();
  const std::string where = walker_.source().where(record.line);
  try {
    record.object = formats::parse_json(item, where);
  } catch (const Error& error) {
    malformed(error.what());
  }
  if (!record.object.is_object()) {
    malformed(where, ": expected a JSON object, found an item of type ", record.object.type_name());
  }
  return true;
}

std::unique_ptr<Reader<JsonRecord>> open_json_records(ByteSource bytes, std::string_view format,
                                                      const ReadOptions& options) {
  if (format == "json") {
    return std::make_unique<JsonDocumentReader>(std::move(bytes), options);
  }
  return std::make_unique<JsonLinesReader>(std::move(bytes), options);
}

}  // namespace weft::readers
