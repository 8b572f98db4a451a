// SPDX-License-Identifier: Apache-2.0
// What a task does with a file that is something else than it reads.
#include "weft/fine_tuning/record_reading.h"

#include "weft/core/error.h"
#include "weft/core/system/option_name.h"
#include "weft/readers/byte_source.h"
#include "weft/readers/input/no_text.h"

namespace weft::fine_tuning {
namespace {

bool has_word(std::string_view words, std::string_view word) {
  return concat(" ", words, " ").find(concat(" ", word, " ")) != std::string::npos;
}

// Words and tags are often in files whose names say a table.
bool may_be_first(const readers::FileKind& kind, std::string_view known) {
  const bool table = kind.format == "csv" || kind.format == "tsv";
  return !kind.sure || kind.format == "text" || (table && !kind.by_content() && known == "conll");
}

}  // namespace

readers::FileKind kind_for(const std::filesystem::path& file, const DataSettings& data, std::string_view known) {
  readers::ByteSource bytes(file);
  if (data.format != "auto") {
    readers::refuse_no_text(bytes);
    return {data.format, ""};
  }
  std::vector<std::string> fields = {data.text_field, data.pair_field};
  fields.insert(fields.end(), data.label_field.begin(), data.label_field.end());
  readers::FileKind kind = readers::decide_kind(bytes, fields);
  if (has_word(known, kind.format)) {
    return kind;
  }
  if (may_be_first(kind, known)) {
    return {std::string(known.substr(0, known.find(' '))), ""};
  }
  throw Error(ErrorKind::kFormat,
              concat(bytes.name(), ": is ", readers::kind_text(kind), kind.by_content() ? " (" : "", kind.reason,
                     kind.by_content() ? ")" : "", ", expected for this task: ", known),
              concat(option("format"), " names the format where that is wrong"));
}

}  // namespace weft::fine_tuning
