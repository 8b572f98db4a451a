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

// Whether a table's first line has a usual column of texts. Quotes around a name do not matter here.
bool names_text(std::string_view line, char separator) {
  std::vector<std::string> columns(1);
  for (const char byte : line) {
    if (byte == separator) {
      columns.emplace_back();
    } else if (byte != '"' && byte != '\r' && byte != '\n') {
      columns.back().push_back(byte);
    }
  }
  return !usual_column(columns, kTextFields).empty();
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
  if (names_text(line, format == "csv" ? ',' : '\t')) {
    return format;
  }
  log_warning(bytes.name(), ": each line is read as a text; ", option("text_field"),
              " NAME reads that column of a table");
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

std::string resolved_format(ByteSource& bytes, const InputTextOptions& options) {
  if (options.format == "objects") {
    return decide_kind(bytes, {options.text_field}).format == "json" ? "json" : "jsonl";
  }
  if (options.format != "auto") {
    refuse_no_text(bytes);
    return options.format;
  }
  const FileKind kind = decide_kind(bytes, {options.text_field, options.pair_field});
  if (kind.format == "csv" || kind.format == "tsv") {
    if (const std::string format = format_of_table(kind.format, bytes, options); format == "lines") {
      return format;
    }
  }
  if (!kind.sure) {
    log_warning(bytes.name(), ": ", kind.reason, ", but not of a record with a text; each line is read as a text");
    return "lines";
  }
  if (kind.format == "text" && !options.text_field.empty() && !options.pairs) {
    throw Error(
        ErrorKind::kArgument,
        concat(bytes.name(), ": is read as lines of text, which have no column or field ", quote(options.text_field)),
        concat(option("format"), " names the format where it is a table or JSON"));
  }
  if (kind.by_content() && !kind.named_alike) {
    log_warning(bytes.name(), ": ", kind.reason, ", so it is read as ", spoken(kind.format), "; ", option("format"),
                " lines reads each line as a text");
  }
  return kind.format == "text" ? "lines" : kind.format;
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

Next texts_of(NextObject next, const InputTextOptions& options) {
  return [next = std::move(next), options](InputText& text) {
    PlacedObject placed;
    if (!next(placed)) {
      return false;
    }
    const formats::Json& object = placed.object;
    text.where = placed.where;
    const std::string field = options.text_field.empty() ? usual_field(object, kTextFields) : options.text_field;
    if (field.empty()) {
      throw MalformedRecord(concat(text.where, ": the object has no field ",
                                   quoted_list(std::vector<std::string>(kTextFields.begin(), kTextFields.end()), 12)),
                            concat(option("text_field"), " NAME names the field of the text; ", option("format"),
                                   " lines reads each line as a text"));
    }
    text.first = string_field(object, field, text.where);
    text.second.reset();
    if (options.pairs) {
      text.second = string_field(object, options.pair_field, text.where);
    }
    if (options.keep_fields) {
      text.names_of_texts = names_of_texts(field, options);
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
  const std::string field = options.text_field.empty() ? usual_column(columns, kTextFields) : options.text_field;
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
  const std::string name = bytes.name();
  if (format == "lines") {
    return lines_of(std::move(bytes), options.pairs);
  }
  if (options.pairs && options.pair_field.empty()) {
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
    return texts_of(objects_of<Question>(std::make_shared<SquadReader>(std::move(bytes)), name), of_squad);
  }
  if (format == "csv" || format == "tsv") {
    return table_of(std::move(bytes), format, options);
  }
  require(!options.pairs, name, ": ", option("pairs"), " needs two texts a record, and ", spoken(format), " have one");
  if (format == "fasta") {
    return sequences_of(std::move(bytes), options.keep_fields);
  }
  require(
      format == "conll", "format must be one of ", [&] { return joined(kInputFormats, ", "); }, ", found ",
      Quoted(format));
  return texts_of(objects_of<TaggedSentence>(std::make_shared<ConllReader>(std::move(bytes)), name), options);
}

}  // namespace

void split_pair(InputText& text) {
  const std::size_t tab = text.first.find('\t');
  if (tab == std::string::npos || text.first.find('\t', tab + 1) != std::string::npos) {
    malformed(text.where, ": expected two texts with one tab between them");
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
