// SPDX-License-Identifier: Apache-2.0
// One converter a format: a reader's record in, an InputText out.
#include "weft/readers/input/input_texts.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/formats/config_json.h"
#include "weft/readers/byte_source.h"
#include "weft/readers/fasta_reader.h"
#include "weft/readers/json_lines_reader.h"
#include "weft/readers/table_reader.h"
#include "weft/readers/text_source.h"

namespace weft::readers {
namespace {

using Next = std::function<bool(InputText&)>;

// The record's text field: the one that was named, else the first usual one that `has` finds.
template <typename Has>
std::string text_field(const InputTextOptions& options, const Has& has) {
  if (!options.text_field.empty()) {
    return options.text_field;
  }
  const auto* found = std::find_if(kTextFields.begin(), kTextFields.end(),
                                   [&](std::string_view name) { return has(std::string(name)); });
  return found == kTextFields.end() ? std::string() : std::string(*found);
}

bool has_text(const formats::Json& object, const InputTextOptions& options) {
  return object.is_object() &&
         !text_field(options, [&](const std::string& name) { return object.contains(name); }).empty();
}

bool is_text_object(std::string_view line, const InputTextOptions& options) {
  try {
    return has_text(formats::parse_json(line, ""), options);
  } catch (const Error&) {
    return false;
  }
}

// Whether a table's first line has the column of the text. Quotes around a name do not matter here.
bool names_text(std::string_view line, char separator, const InputTextOptions& options) {
  std::vector<std::string> columns(1);
  for (const char byte : line) {
    if (byte == separator) {
      columns.emplace_back();
    } else if (byte != '"' && byte != '\r' && byte != '\n') {
      columns.back().push_back(byte);
    }
  }
  const auto has = [&](const std::string& name) {
    return std::find(columns.begin(), columns.end(), name) != columns.end();
  };
  return has(text_field(options, has));
}

// A table of texts and labels is one; lines that only have tabs or commas in them are lines.
std::string format_of_table(const std::string& format, ByteSource& bytes, const InputTextOptions& options) {
  if (options.pairs && options.pair_field.empty()) {
    return "lines";
  }
  if (!options.text_field.empty()) {
    return format;
  }
  const std::string_view line = bytes.first_line(ReadOptions().max_record_bytes);
  if (names_text(line, format == "csv" ? ',' : '\t', options)) {
    return format;
  }
  log_warning(bytes.name(), ": each line is read as a text; --text-field NAME reads that column of a table");
  return "lines";
}

std::string resolved_format(ByteSource& bytes, const InputTextOptions& options) {
  if (options.format != "auto") {
    return options.format;
  }
  std::string named = format_of_name(bytes.path());
  if (named == "csv" || named == "tsv") {
    return format_of_table(named, bytes, options);
  }
  if (named == "jsonl" || named == "fasta") {
    return named;
  }
  std::string begun = format_of_line(bytes.first_line(5));  // a byte order mark and two bytes
  if (begun == "fasta") {
    log_warning(bytes.name(), ": begins with '>', so it is read as FASTA; --format lines reads each line as a text");
    return begun;
  }
  if (begun == "jsonl" && is_text_object(bytes.first_line(ReadOptions().max_record_bytes), options)) {
    log_warning(bytes.name(),
                ": begins with a JSON object that has a text, so it is read as JSON lines; --format lines reads each "
                "line as a text");
    return begun;
  }
  return "lines";
}

std::vector<std::string> names_of_texts(const std::string& field, const InputTextOptions& options) {
  return options.pairs ? std::vector{field, options.pair_field} : std::vector{field};
}

Next lines_of(ByteSource bytes, bool pairs) {
  auto source = std::make_shared<TextSource>(std::move(bytes), ReadOptions{});
  return [source, pairs](InputText& text) {
    text.second.reset();
    source->begin_record();
    if (!source->next_line(text.first)) {
      return false;
    }
    text.where = source->where();
    if (pairs) {
      split_pair(text);
    }
    return true;
  };
}

Next json_lines_of(ByteSource bytes, const InputTextOptions& options) {
  const std::string name = bytes.name();
  auto reader = std::make_shared<JsonLinesReader>(std::move(bytes));
  return [reader, name, options](InputText& text) {
    JsonRecord record;
    if (!reader->next(record)) {
      return false;
    }
    text.where = concat(name, " line ", record.line);
    const std::string field =
        text_field(options, [&](const std::string& usual) { return record.object.contains(usual); });
    if (field.empty()) {
      throw Error(ErrorKind::kFormat,
                  concat(text.where, ": the object has no field ",
                         quoted_list(std::vector<std::string>(kTextFields.begin(), kTextFields.end()), 12)),
                  "--text-field NAME names the field of the text; --format lines reads each line as a text");
    }
    text.first = string_field(record.object, field, text.where);
    text.second.reset();
    if (options.pairs) {
      text.second = string_field(record.object, options.pair_field, text.where);
    }
    if (options.keep_fields) {
      text.names_of_texts = names_of_texts(field, options);
      text.fields = std::move(record.object);
    }
    return true;
  };
}

void check_names(const std::vector<std::string>& columns, const std::string& name) {
  std::set<std::string_view> seen;
  for (const std::string& column : columns) {
    if (!seen.insert(column).second) {
      fail(ErrorKind::kFormat, name, ": two columns have the name ", quote(column),
           ", and what is written again would have one of them");
    }
  }
}

// A row by the names of its columns, which differ: a look for an equal name each time would cost their square.
formats::Json fields_of(const std::vector<std::string>& columns, const TableRow& row) {
  formats::Json fields = formats::Json::object();
  auto& list = fields.get_ref<formats::Json::object_t&>();
  list.reserve(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    list.emplace_back(columns[i], row.fields[i]);
  }
  return fields;
}

Next table_of(ByteSource bytes, const std::string& format, const InputTextOptions& options) {
  const std::string name = bytes.name();
  auto reader = std::make_shared<TableReader>(std::move(bytes), TableOptions::of("table." + format));
  const std::vector<std::string>& columns = reader->columns();
  if (options.keep_fields) {
    check_names(columns, name);
  }
  const auto has = [&](const std::string& column) {
    return std::find(columns.begin(), columns.end(), column) != columns.end();
  };
  const std::string field = text_field(options, has);
  const std::size_t first = reader->column(field.empty() ? std::string(kTextFields.front()) : field);
  const std::optional<std::size_t> second =
      options.pairs ? std::optional(reader->column(options.pair_field)) : std::nullopt;
  return [reader, name, first, second, options](InputText& text) {
    TableRow row;
    if (!reader->next(row)) {
      return false;
    }
    text.where = concat(name, " line ", row.line);
    if (options.keep_fields) {
      text.names_of_texts = names_of_texts(reader->columns()[first], options);
      text.fields = fields_of(reader->columns(), row);
    }
    text.first = std::move(row.fields[first]);
    text.second = second ? std::optional(row.fields[*second]) : std::nullopt;
    return true;
  };
}

Next sequences_of(ByteSource bytes, bool keep_fields) {
  const std::string name = bytes.name();
  auto reader = std::make_shared<FastaReader>(std::move(bytes));
  return [reader, name, keep_fields](InputText& text) {
    FastaRecord record;
    if (!reader->next(record)) {
      return false;
    }
    text = {std::move(record.sequence), {}, concat(name, " line ", record.line)};
    if (keep_fields) {
      text.fields = {{"name", record.name}, {"description", record.description}};
    }
    return true;
  };
}

Next open(ByteSource bytes, const InputTextOptions& options) {
  const std::string format = resolved_format(bytes, options);
  if (format == "lines") {
    return lines_of(std::move(bytes), options.pairs);
  }
  if (options.pairs && options.pair_field.empty()) {
    throw Error(ErrorKind::kArgument, concat(bytes.name(), ": --pairs needs the field of the second text"),
                "--pair-field NAME names it; --format lines reads two texts a line, with a tab between them");
  }
  if (format == "jsonl") {
    return json_lines_of(std::move(bytes), options);
  }
  if (format == "fasta") {
    require(!options.pairs, bytes.name(), ": --pairs needs two texts a record, and FASTA has one sequence");
    return sequences_of(std::move(bytes), options.keep_fields);
  }
  require(format == "csv" || format == "tsv", "format must be auto, lines, jsonl, csv, tsv or fasta, found ",
          quote(format));
  return table_of(std::move(bytes), format, options);
}

}  // namespace

void split_pair(InputText& text) {
  const std::size_t tab = text.first.find('\t');
  if (tab == std::string::npos || text.first.find('\t', tab + 1) != std::string::npos) {
    fail(ErrorKind::kFormat, text.where, ": expected two texts with one tab between them");
  }
  text.second = text.first.substr(tab + 1);
  text.first.resize(tab);
}

InputTexts::InputTexts(ByteSource bytes, const InputTextOptions& options) : next_(open(std::move(bytes), options)) {}

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

std::string read_whole_text(ByteSource source, std::uint64_t maximum_bytes) {
  constexpr std::size_t kPiece = 1 << 16;
  std::string text;
  std::vector<char> piece(kPiece);
  while (const std::size_t got = source.read(piece.data(), piece.size())) {
    text.append(piece.data(), got);
    if (text.size() > maximum_bytes) {
      fail(ErrorKind::kFormat, source.name(), ": a document must have at most ", maximum_bytes, " bytes, found more");
    }
  }
  return text;
}

}  // namespace weft::readers
