// SPDX-License-Identifier: Apache-2.0
// One converter a format: a reader's record in, a TextRecord out.
#include "weft/fine_tuning/text_records.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "weft/core/quote.h"
#include "weft/fine_tuning/record_fields.h"
#include "weft/fine_tuning/record_reading.h"
#include "weft/readers/fasta_reader.h"
#include "weft/readers/file_list.h"
#include "weft/readers/input/file_kind.h"
#include "weft/readers/json_document_reader.h"
#include "weft/readers/json_lines_reader.h"
#include "weft/readers/table_reader.h"
#include "weft/readers/text_reader.h"
#include "weft/readers/text_source.h"

namespace weft::fine_tuning {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRead = "text csv tsv jsonl json fasta";

// A file with the label that all of its records have, if they do.
struct LabelledFile {
  fs::path path;
  std::optional<std::string> label;
  bool classless = false;  // in a folder of class folders, and in none of them
};

// A folder's own files are those of its class, unless it has folders of classes.
bool beside_classes(const fs::path& file, const fs::path& root, const std::vector<fs::path>& files) {
  const auto directly = [&](const fs::path& one) { return one.parent_path() == (root / "x").parent_path(); };
  return fs::is_directory(root) && directly(file) && !std::all_of(files.begin(), files.end(), directly);
}

std::string place_of(const fs::path& file, std::int64_t line) {
  return concat(quote(file.native(), 4096), " line ", line);
}

class RecordReading {
 public:
  RecordReading(const DataSettings& settings, LabelCount count, const std::function<void(const TextRecord&)>& visit)
      : settings_(settings), options_(read_options(settings)), count_(count), visit_(visit) {}

  void read(const LabelledFile& file) {
    const readers::FileKind kind = kind_for(file.path, settings_, kRead);
    const std::string& format = kind.format;
    ++report_.kinds[readers::kind_text(kind)];
    if (format == "csv" || format == "tsv") {
      read_table(file, format);
    } else if (format == "jsonl" || format == "json") {
      read_json(file, format);
    } else if (format == "fasta") {
      read_fasta(file);
    } else {
      read_text(file, format == "lines" ? readers::TextUnit::kLine : readers::TextUnit::kFile);
    }
  }
  const readers::ReadReport& report() const { return report_; }

 private:
  // All records of a reader through `convert`, which may find one malformed, too.
  template <typename ReaderType, typename Convert>
  void read_all(ReaderType& reader, const Convert& convert) {
    const auto visit = [&](const typename ReaderType::Record& record) {
      TextRecord found;
      convert(record, found);
      visit_(found);
    };
    read_records(reader, options_, visit, report_);
  }

  void read_table(const LabelledFile& file, const std::string& format) {
    readers::TableReader reader(file.path, readers::TableOptions::of_format(format, settings_.header), options_);
    std::optional<TableColumns> columns;
    read_all(reader, [&](const readers::TableRow& row, TextRecord& record) {
      if (!columns) {
        columns = find_columns(reader.columns(), settings_, count_, !file.label, quote(file.path.native(), 4096));
      }
      const std::string place = place_of(file.path, row.line);
      record.document = {row.fields[columns->text], {}, place};
      record.line = row.line;
      if (columns->id) {
        record.id = row.fields[*columns->id];
      }
      if (columns->pair) {
        record.document.second = row.fields[*columns->pair];
      }
      if (!file.label) {
        take_labels(row.fields, reader.columns(), *columns, {count_, place}, record);
      }
      finish(file, record);
    });
  }

  void read_json(const LabelledFile& file, const std::string& format) {
    const auto reader = readers::open_json_records(readers::ByteSource(file.path), format, options_);
    read_all(*reader, [&](const readers::JsonRecord& json, TextRecord& record) {
      const std::string place = place_of(file.path, json.line);
      const std::string text = json_text_field(json.object, settings_, place);
      record.document = {readers::string_field(json.object, text, place), {}, place};
      record.line = json.line;
      for (const auto& [name, value] : json.object.items()) {
        if (is_id_field(name) && record.id.is_null() && (value.is_string() || value.is_number())) {
          record.id = value;
        }
      }
      if (!settings_.pair_field.empty()) {
        record.document.second = readers::string_field(json.object, settings_.pair_field, place);
      }
      if (!file.label) {
        take_json_labels(json.object, settings_, {count_, place}, record);
      }
      finish(file, record);
    });
  }

  void read_fasta(const LabelledFile& file) {
    readers::FastaReader reader(file.path, options_);
    const LabelledFile named = {file.path, file.label.value_or(first_stem(file.path))};
    read_all(reader, [&](const readers::FastaRecord& fasta, TextRecord& record) {
      record.document = {fasta.sequence, {}, place_of(file.path, fasta.line)};
      record.line = fasta.line;
      record.id = fasta.name;
      finish(named, record);
    });
  }

  void read_text(const LabelledFile& file, readers::TextUnit unit) {
    readers::TextReader reader(file.path, unit, options_);
    const LabelledFile named = {file.path, file.label.value_or(fs::absolute(file.path).parent_path().filename())};
    read_all(reader, [&](const readers::TextDocument& text, TextRecord& record) {
      if (file.classless) {
        readers::malformed(
            quote(file.path.native(), 4096),
            ": is in no folder of a class; put it into the folder of its label, or name it as LABEL=PATH");
      }
      record.document = {text.text, {}, place_of(file.path, text.line)};
      record.line = text.line;
      finish(named, record);
    });
  }

  static void finish(const LabelledFile& file, TextRecord& record) {
    record.file = file.path.string();
    if (file.label) {
      readers::check_utf8(*file.label, concat("the label of ", quote(file.path.native(), 4096)));
      record.labels = {*file.label};
    }
  }

  const DataSettings& settings_;
  readers::ReadOptions options_;
  LabelCount count_;
  const std::function<void(const TextRecord&)>& visit_;
  readers::ReadReport report_;
};

}  // namespace

formats::Json origin_of(const TextRecord& record) {
  formats::Json origin = {{"file", record.file}, {"line", record.line}};
  if (!record.id.is_null()) {
    origin["id"] = record.id;
  }
  origin["text"] = record.document.first;
  if (record.document.second) {
    origin["text_pair"] = *record.document.second;
  }
  return origin;
}

readers::ReadReport read_text_records(const std::vector<std::string>& paths, const DataSettings& settings,
                                      LabelCount count, const std::function<void(const TextRecord&)>& visit) {
  RecordReading reading(settings, count, visit);
  for (const std::string& word : paths) {
    const DataPath named = parse_data_path(word);
    const std::vector<fs::path> files = readers::list_files({named.path});
    for (const fs::path& file : files) {
      const bool classless = !named.labelled && beside_classes(file, named.path, files);
      reading.read({file, named.labelled ? std::optional(named.label) : std::nullopt, classless});
    }
  }
  return reading.report();
}

}  // namespace weft::fine_tuning
