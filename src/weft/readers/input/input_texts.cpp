// SPDX-License-Identifier: Apache-2.0
// One converter a format: a reader's record in, an InputText out.
#include "weft/readers/input/input_texts.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/formats/config_json.h"
#include "weft/readers/byte_source.h"
#include "weft/readers/conll_reader.h"
#include "weft/readers/fasta_reader.h"
#include "weft/readers/input/file_kind.h"
#include "weft/readers/input/no_text.h"
#include "weft/readers/json_document_reader.h"
#include "weft/readers/json_lines_reader.h"
#include "weft/readers/squad_reader.h"
#include "weft/readers/table_reader.h"
#include "weft/readers/text_source.h"

namespace weft::readers {
namespace {

using Next = std::function<bool(InputText&)>;

std::string quoted_names(std::span<const std::string_view> names) {
  return quoted_list(std::vector<std::string>(names.begin(), names.end()), 12);
}

// Whether a table's first line has one of the columns. Quotes around a name do not matter here.
bool names_one(std::string_view line, char separator, std::span<const std::string_view> names) {
  std::vector<std::string> columns(1);
  for (const char byte : line) {
    if (byte == separator) {
      columns.emplace_back();
    } else if (byte != '"' && byte != '\r' && byte != '\n') {
      columns.back().push_back(byte);
    }
  }
  return !usual_column(columns, names).empty();
}

// A table of texts and labels is one; lines that only have tabs or commas in them are lines.
std::string format_of_table(const std::string& format, ByteSource& bytes, const InputTextOptions& options) {
  if (!options.text_field.empty() || !options.pair_field.empty() || !options.usual_pairs.empty()) {
    return format;
  }
  const std::vector<std::string> known = known_fields();
  const std::vector<std::string_view> of_pairs(known.begin(), known.end());
  const std::string_view line = bytes.first_line(ReadOptions().max_record_bytes);
  if (names_one(line, format == "csv" ? ',' : '\t', options.pairs ? of_pairs : options.usual_texts)) {
    return format;
  }
  if (!options.pairs) {
    log_warning(bytes.name(), ": each line is read as a text; ", option("text_field"),
                " NAME reads that column of a table");
  }
  return "lines";
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kFormatNames = {
    {{"jsonl", "JSON lines"},
     {"json", "JSON objects"},
     {"csv", "a table with commas"},
     {"tsv", "a table with tabs"},
     {"fasta", "FASTA"},
     {"conll", "sentences in columns"},
     {"squad", "SQuAD's questions"}}};

std::string_view spoken(std::string_view format) {
  const auto* found =
      std::find_if(kFormatNames.begin(), kFormatNames.end(), [&](const auto& row) { return row.first == format; });
  return found == kFormatNames.end() ? format : found->second;
}

FileKind kind_of(ByteSource& bytes, const InputTextOptions& options) {
  std::vector<std::string> fields = {options.text_field, options.pair_field};
  fields.insert(fields.end(), options.usual_texts.begin(), options.usual_texts.end());
  fields.insert(fields.end(), options.usual_pairs.begin(), options.usual_pairs.end());
  return decide_kind(bytes, fields);
}

// What is no format at all is for the reader of lines to say, with the line.
std::string format_of_objects(ByteSource& bytes, const InputTextOptions& options) {
  const std::string format = kind_of(bytes, options).format;
  if (format != "json" && format != "jsonl" && format != "text") {
    throw Error(ErrorKind::kFormat,
                concat(bytes.name(), ": expected JSON objects, one a line or in an array, found ", spoken(format)),
                "write each record as a JSON object in a line of its own");
  }
  return format == "json" ? "json" : "jsonl";
}

// What says how other formats are read. `what`: how this file is.
void refuse_parts(const std::string& name, std::string_view what, const InputTextOptions& options) {
  const std::string& field = options.text_field.empty() ? options.pair_field : options.text_field;
  if (!field.empty()) {
    throw Error(ErrorKind::kArgument,
                concat(name, ": is read as ", what, ", which have no column or field ", quote(field)),
                concat(option("format"), " names the format where it is a table or JSON"));
  }
}

void refuse_header(const std::string& name, std::string_view what, const InputTextOptions& options) {
  if (!options.header) {
    throw Error(ErrorKind::kArgument,
                concat(name, ": ", option("no_header"), " is for tables, and this is read as ", what),
                concat("leave it out; or ", option("format"), " csv or tsv reads a table, and ", option("text_field"),
                       " names its column: 1, 2, ..."));
  }
}

std::string resolved_format(ByteSource& bytes, const InputTextOptions& options) {
  if (options.format == "objects") {
    return format_of_objects(bytes, options);
  }
  if (options.format != "auto") {
    if (options.format == "lines") {
      refuse_parts(bytes.name(), "lines of text", options);
    }
    refuse_no_text(bytes);
    return options.format;
  }
  const FileKind kind = kind_of(bytes, options);
  if (kind.format == "csv" || kind.format == "tsv") {
    if (const std::string format = format_of_table(kind.format, bytes, options); format == "lines") {
      return format;
    }
  }
  if (!kind.sure) {
    log_warning(bytes.name(), ": ", kind.reason, ", but not of a record with a text; each line is read as a text");
    return "lines";
  }
  if (kind.format == "text") {
    refuse_parts(bytes.name(), "lines of text", options);
  }
  if (kind.by_content() && !kind.named_alike) {
    log_warning(bytes.name(), ": ", kind.reason, ", so it is read as ", spoken(kind.format), "; ", option("format"),
                " lines reads each line as a text");
  }
  return kind.format == "text" ? "lines" : kind.format;
}

// Of one text, whose second name is empty, or of two.
std::vector<std::string> names_of_texts(const std::string& first, const std::string& second) {
  return second.empty() ? std::vector{first} : std::vector{first, second};
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
      split_pair(text, concat(option("text_field"), " and ", option("pair_field"), " name the columns of a table"));
    }
    return true;
  };
}

// An object and where it begins in its file.
struct PlacedObject {
  formats::Json object;
  std::string where;
};
using NextObject = std::function<bool(PlacedObject&)>;

PlacedObject placed(JsonRecord& record, const std::string& name) {
  return {std::move(record.object), concat(name, " line ", record.line)};
}

PlacedObject placed(const Question& question, const std::string& name) {
  return {
      {{"id", question.id}, {"title", question.title}, {"question", question.question}, {"context", *question.context}},
      concat(name, " question ", quote(question.id))};
}

PlacedObject placed(const TaggedSentence& sentence, const std::string& name) {
  return {{{"text", joined(sentence.words, " ")}, {"tags", sentence.tags}}, concat(name, " line ", sentence.line)};
}

// The records of a file that errors call `name`, as objects.
template <typename Record>
NextObject objects_of(std::shared_ptr<Reader<Record>> reader, const std::string& name) {
  return [reader = std::move(reader), name](PlacedObject& object) {
    Record record;
    if (!reader->next(record)) {
      return false;
    }
    object = placed(record, name);
    return true;
  };
}

// The field that was named, else a usual one of the record. A single usual one is the field, there or not.
std::string field_of(const formats::Json& object, const std::string& named, std::span<const std::string_view> usual,
                     std::string_view taken = {}) {
  if (!named.empty()) {
    return named;
  }
  const std::string found = usual_field(object, usual, taken);
  return found.empty() && usual.size() == 1 ? std::string(usual.front()) : found;
}

// Empty for a record without one.
std::string id_of(const formats::Json& object) {
  const auto found = object.find(usual_field(object, kRecordIdFields));
  if (found == object.end() || !(found->is_string() || found->is_number_integer())) {
    return {};
  }
  return found->is_string() ? found->get<std::string>() : found->dump();
}

Next texts_of(NextObject next, const InputTextOptions& options) {
  return [next = std::move(next), options](InputText& text) {
    PlacedObject placed;
    if (!next(placed)) {
      return false;
    }
    const formats::Json& object = placed.object;
    text.where = placed.where;
    const std::string field = field_of(object, options.text_field, options.usual_texts);
    if (field.empty()) {
      throw MalformedRecord(concat(text.where, ": the object has no field ", quoted_names(options.usual_texts)),
                            concat(option("text_field"), " NAME names the field of the text; ", option("format"),
                                   " lines reads each line as a text"));
    }
    text.first = string_field(object, field, text.where);
    text.second.reset();
    std::string second;
    if (options.pairs) {
      second = field_of(object, options.pair_field, options.usual_pairs, field);
      text.second = string_field(object, second, text.where);
    }
    if (options.keep_ids) {
      text.id = id_of(object);
    }
    if (options.keep_fields) {
      text.names_of_texts = names_of_texts(field, second);
      text.fields = std::move(placed.object);
    }
    return true;
  };
}

void check_names(const std::vector<std::string>& columns, const std::string& name) {
  std::set<std::string_view> seen;
  for (const std::string& column : columns) {
    if (!seen.insert(column).second) {
      fail(ErrorKind::kFormat, name, ": two columns have the name ", quote(column),
           ", and a record has one field of a name");
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

// The place of the column that was named, else of a usual one.
std::size_t column_of(const TableReader& reader, const std::string& name, const std::string& named,
                      std::span<const std::string_view> usual) {
  const std::string found = named.empty() ? usual_column(reader.columns(), usual) : named;
  if (found.empty() && usual.size() > 1) {
    throw Error(ErrorKind::kArgument,
                concat(name, " has no column ", quoted_names(usual), "; it has ", quoted_list(reader.columns(), 12)),
                concat(option("text_field"), " NAME names the column of the text"));
  }
  return reader.column(found.empty() ? usual.front() : found);
}

Next table_of(ByteSource bytes, const std::string& format, const InputTextOptions& options) {
  const std::string name = bytes.name();
  auto reader = std::make_shared<TableReader>(std::move(bytes), TableOptions::of_format(format, options.header));
  // Columns without names are known once a row was read.
  auto held = std::make_shared<std::optional<TableRow>>();
  if (TableRow row; !options.header && reader->next(row)) {
    *held = std::move(row);
  }
  const std::vector<std::string>& columns = reader->columns();
  if (options.keep_fields) {
    check_names(columns, name);
  }
  const std::size_t first = column_of(*reader, name, options.text_field, options.usual_texts);
  const std::optional<std::size_t> second =
      options.pairs ? std::optional(column_of(*reader, name, options.pair_field, options.usual_pairs)) : std::nullopt;
  const std::string id = options.keep_ids ? usual_column(columns, kRecordIdFields) : std::string();
  const std::optional<std::size_t> id_place = id.empty() ? std::nullopt : std::optional(reader->column(id));
  return [reader, held, name, first, second, id_place, options](InputText& text) {
    TableRow row;
    if (*held) {
      row = *std::exchange(*held, std::nullopt);
    } else if (!reader->next(row)) {
      return false;
    }
    text.where = concat(name, " line ", row.line);
    text.id = id_place ? row.fields[*id_place] : std::string();
    if (options.keep_fields) {
      text.names_of_texts = names_of_texts(reader->columns()[first], second ? reader->columns()[*second] : "");
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
  const std::string name = bytes.name();
  if (format != "csv" && format != "tsv") {
    refuse_header(name, format == "lines" ? "lines of text" : spoken(format), options);
  }
  if (format == "lines") {
    return lines_of(std::move(bytes), options.pairs);
  }
  if (options.pairs && options.pair_field.empty() && options.usual_pairs.empty()) {
    throw Error(ErrorKind::kArgument, concat(name, ": ", option("pairs"), " needs the field of the second text"),
                concat(option("pair_field"), " NAME names it; ", option("format"),
                       " lines reads two texts a line, with a tab between them"));
  }
  if (format == "jsonl" || format == "json") {
    return texts_of(objects_of<JsonRecord>(open_json_records(std::move(bytes), format), name), options);
  }
  if (format == "squad") {
    InputTextOptions of_squad = options;
    of_squad.text_field = options.text_field.empty() ? "context" : options.text_field;
    auto reader = std::make_shared<SquadReader>(std::move(bytes), ReadOptions(), SquadAnswers::kLeftOut);
    return texts_of(objects_of<Question>(std::move(reader), name), of_squad);
  }
  if (format == "csv" || format == "tsv") {
    return table_of(std::move(bytes), format, options);
  }
  require(!options.pairs, name, ": ", option("pairs"), " needs two texts a record, and ", spoken(format), " have one");
  if (format == "fasta") {
    refuse_parts(name, "sequences of FASTA", options);
    return sequences_of(std::move(bytes), options.keep_fields);
  }
  require(
      format == "conll", "format must be one of ", [&] { return joined(kInputFormats, ", "); }, ", found ",
      Quoted(format));
  return texts_of(objects_of<TaggedSentence>(std::make_shared<ConllReader>(std::move(bytes)), name), options);
}

}  // namespace

void split_pair(InputText& text, const std::string& hint) {
  const std::size_t tab = text.first.find('\t');
  if (tab == std::string::npos || text.first.find('\t', tab + 1) != std::string::npos) {
    throw MalformedRecord(concat(text.where, ": expected two texts with one tab between them"), hint);
  }
  text.second = text.first.substr(tab + 1);
  text.first.resize(tab);
}

InputTexts::InputTexts(ByteSource bytes, const InputTextOptions& options) : next_(open(std::move(bytes), options)) {}

std::string read_whole_text(ByteSource source, std::uint64_t maximum_bytes) {
  constexpr std::size_t kPiece = 1 << 16;
  std::string text;
  std::vector<char> piece(kPiece);
  refuse_no_text(source);
  while (const std::size_t got = source.read(piece.data(), piece.size())) {
    text.append(piece.data(), got);
    if (text.size() > maximum_bytes) {
      fail(ErrorKind::kFormat, source.name(), ": a document must have at most ", maximum_bytes, " bytes, found more");
    }
  }
  return text;
}

}  // namespace weft::readers
