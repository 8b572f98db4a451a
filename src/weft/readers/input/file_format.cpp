// SPDX-License-Identifier: Apache-2.0
// A table of name endings, and two first bytes.
#include "weft/readers/input/file_format.h"

#include <algorithm>
#include <utility>

#include "weft/core/error.h"
#include "weft/formats/config_json.h"
#include "weft/readers/byte_source.h"

namespace weft::readers {
namespace {

using Row = std::pair<std::string_view, std::string_view>;
constexpr std::array kNames = {Row{".csv", "csv"},     Row{".tsv", "tsv"},      Row{".tab", "tsv"},
                               Row{".jsonl", "jsonl"}, Row{".ndjson", "jsonl"}, Row{".conll", "conll"},
                               Row{".iob", "conll"},   Row{".iob2", "conll"},   Row{".bio", "conll"},
                               Row{".fa", "fasta"},    Row{".fna", "fasta"},    Row{".fasta", "fasta"},
                               Row{".txt", "text"},    Row{".text", "text"},    Row{".md", "text"}};

constexpr std::size_t kLongestLine = std::size_t{1} << 20;  // that is parsed to tell JSON lines from one document

std::string extension_of(const std::filesystem::path& file) {
  std::filesystem::path name = file.filename();
  name = name.extension() == ".gz" ? name.stem() : name;
  return name.extension().string();
}

// One of many objects, a line each. A data set of SQuAD is one object with a list, on one line or on many.
bool is_record(std::string_view line) {
  try {
    const formats::Json json = formats::parse_json(line, "");
    return json.is_object() && !(json.contains("data") && json["data"].is_array());
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::string format_of_name(const std::filesystem::path& file) {
  const std::string extension = extension_of(file);
  const auto* found =
      std::find_if(kNames.begin(), kNames.end(), [&](const Row& row) { return row.first == extension; });
  return found == kNames.end() ? std::string() : std::string(found->second);
}

std::string format_of_line(std::string_view line) {
  if (line.starts_with('{')) {
    return "jsonl";
  }
  const bool named = line.size() > 1 && line[0] == '>' && line[1] > ' ' && line[1] != '>';
  return named ? "fasta" : "";
}

std::string format_of_file(const std::filesystem::path& file) {
  if (const std::string named = format_of_name(file); !named.empty()) {
    return named;
  }
  ByteSource bytes(file);
  const std::string_view line = bytes.first_line(kLongestLine);
  if (extension_of(file) == ".json") {
    return is_record(line) ? "jsonl" : "squad";
  }
  const std::string begun = format_of_line(line);
  return begun.empty() ? "text" : begun;
}

}  // namespace weft::readers
