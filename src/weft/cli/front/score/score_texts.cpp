// SPDX-License-Identifier: Apache-2.0
// One text of each file in memory at a time.
#include "weft/cli/front/score/score_texts.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/output.h"
#include "weft/core/error.h"
#include "weft/core/interrupt.h"
#include "weft/core/log.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/readers/input/file_kind.h"
#include "weft/readers/input/input_texts.h"
#include "weft/readers/text_source.h"
#include "weft/text/utf8.h"

namespace weft::cli {
namespace {

// What weft summarize and weft translate write beside the text that they read, and then the usual fields.
constexpr auto kWrittenFields = [] {
  std::array<std::string_view, 2 + readers::kTextFields.size()> fields = {"summary_text", "translation_text"};
  std::ranges::copy(readers::kTextFields, fields.begin() + 2);
  return fields;
}();

// A file of texts, what it is, and where its records have their texts.
struct OpenFile {
  readers::ByteSource bytes;
  std::string format;
  std::string text_field;
  std::span<const std::string_view> usual_texts;
};

// Of records that are known as such; "lines" of everything else.
std::string format_of(readers::ByteSource& bytes, const std::vector<std::string>& fields) {
  const readers::FileKind kind = readers::decide_kind(bytes, fields);
  if (!kind.sure && kind.is_object) {
    throw Error(ErrorKind::kFormat,
                concat(bytes.name(), ": ", kind.reason, ", but not of a record with a text that Weft knows"),
                "--text-field names the field of the text; --format lines takes each line as a text");
  }
  if (!kind.sure) {
    log_warning(bytes.name(), ": ", kind.reason, ", but not of a record; each line is read as a text");
    return "lines";
  }
  if (kind.format != "jsonl" && kind.format != "json" && kind.format != "csv" && kind.format != "tsv") {
    return "lines";
  }
  if (kind.by_content() && !kind.named_alike) {
    log_warning(bytes.name(), ": ", kind.reason, ", so its records are read; --format lines reads each line");
  }
  return kind.format;
}

OpenFile open_file(const std::string& path, bool is_reference, bool is_written, const ScoreConfig& config) {
  const bool has_own = is_reference && !config.reference_field.empty();
  OpenFile file{readers::ByteSource::stream(path), config.format, has_own ? config.reference_field : config.text_field,
                readers::kTextFields};
  std::vector<std::string> fields = {file.text_field};
  if (is_written) {
    file.usual_texts = kWrittenFields;
    fields.insert(fields.end(), kWrittenFields.begin(), kWrittenFields.end());
  }
  if (config.format == "auto") {
    file.format = format_of(file.bytes, fields);
  }
  return file;
}

std::vector<OpenFile> open_files(const ScoreFlags& flags, const ScoreConfig& config) {
  std::vector<OpenFile> files;
  files.reserve(flags.files.size());
  for (std::size_t i = 0; i < flags.files.size(); ++i) {
    files.push_back(open_file(flags.files[i], i >= flags.systems + flags.sources, i < flags.systems, config));
  }
  return files;
}

readers::InputTexts input_texts_of(OpenFile file) {
  readers::InputTextOptions options;
  options.format = file.format;
  options.text_field = file.text_field;
  options.usual_texts = file.usual_texts;
  options.keep_ids = true;
  return {std::move(file.bytes), options};
}

// Texts from the present one to the end.
std::int64_t count_rest(readers::InputTexts& texts) {
  std::int64_t count = 0;
  for (readers::InputText text; texts.next(text);) {
    ++count;
  }
  return count;
}

// A field that no file has.
void check_field(const std::string& flag, const std::string& field, std::span<const OpenFile> files) {
  const bool lines =
      std::all_of(files.begin(), files.end(), [](const OpenFile& file) { return file.format == "lines"; });
  if (!field.empty() && lines) {
    throw UsageError(flag + " is for JSON lines and tables, and each line of these files is a text",
                     "name the format with --format jsonl, json, csv or tsv");
  }
}

void check_use(const ScoreFlags& flags, std::span<const OpenFile> files, const ScoreConfig& config) {
  const std::size_t others = flags.systems + flags.sources;
  check_field("--reference-field", config.reference_field, files.subspan(others));
  check_field("--text-field", config.text_field, config.reference_field.empty() ? files : files.first(others));
}

[[noreturn]] void fail_on_counts(const ScoreFlags& flags, std::vector<readers::InputTexts>& texts,
                                 const std::vector<bool>& found, std::int64_t rows) {
  const auto count = [&](std::size_t file) { return rows + (found[file] ? 1 + count_rest(texts[file]) : 0); };
  const auto other = static_cast<std::size_t>(std::find(found.begin(), found.end(), !found.front()) - found.begin());
  const std::int64_t first_count = count(0);
  throw Error(
      ErrorKind::kFormat,
      concat(flags.name_of(0), " has ", first_count, " texts and ", flags.name_of(other), " has ", count(other)),
      "text N of a reference belongs to text N of the hypotheses; an empty line is a text too");
}

}  // namespace

std::string ScoreFlags::name_of(std::size_t file) const {
  return files[file] == "-" ? "standard input" : quote(files[file], 4096);
}

ScoreConfig ScoreFlags::config(const std::string& command) const {
  ScoreConfig config;
  formats::update_from_json(config, given, command);
  if (config.confidence && config.sentence_level) {
    throw UsageError("--confidence is for all texts together, --sentence-level for each by itself");
  }
  if (given.contains("samples") && !config.confidence && !metric_given.contains("baseline")) {
    throw UsageError("--samples is for an interval, or a comparison of two systems",
                     "give --confidence, or of BLEU --baseline FILE");
  }
  return config;
}

void add_score_files(CLI::App& app, ScoreFlags& flags, const std::vector<std::string_view>& only) {
  app.add_option("FILES", flags.files,
                 "the hypotheses, then one or more files of references; plain or gzip; - is "
                 "standard input")
      ->required()
      ->option_text("HYP REF...")
      ->expected(2, CLI::detail::expected_max_vector_size);
  add_fields<ScoreConfig>(app, {.title = "Files", .only = only}, flags.given);
  add_json_flag(app, flags.json);
}

namespace {

// The id of a record, and where that stands.
struct PlacedId {
  std::string id;
  std::string where;
};

// Records belong together by their places, which ids may deny. Files without ids say nothing.
void check_id(PlacedId& named, const readers::InputText& text) {
  if (named.id.empty()) {
    named = {text.id, text.where};
  }
  if (text.id.empty() || text.id == named.id) {
    return;
  }
  throw Error(
      ErrorKind::kFormat,
      concat(named.where, " has the id ", quote(named.id), ", but ", text.where, " has the id ", quote(text.id)),
      "text N of a reference belongs to text N of the hypotheses: put the records of both files in one order");
}

// The next text of each file, and which files had one.
std::vector<bool> next_row(std::vector<readers::InputTexts>& sources, ScoreRow& row) {
  std::vector<bool> found;
  PlacedId named;
  for (readers::InputTexts& source : sources) {
    readers::InputText text;
    found.push_back(source.next(text));
    readers::check_utf8(text.first, text.where);
    check_id(named, text);
    row.texts.emplace_back(text::strip_right(text.first));
    row.where = row.texts.size() == 1 ? text.where : row.where;
  }
  return found;
}

}  // namespace

void visit_rows(const ScoreFlags& flags, const ScoreConfig& config,
                const std::function<void(const ScoreRow& row)>& visit) {
  if (std::count(flags.files.begin(), flags.files.end(), "-") > 1) {
    throw UsageError("only one of the files can be standard input");
  }
  std::vector<OpenFile> files = open_files(flags, config);
  check_use(flags, files, config);
  std::vector<readers::InputTexts> sources;
  sources.reserve(files.size());
  for (OpenFile& file : files) {
    sources.push_back(input_texts_of(std::move(file)));
  }
  const InterruptGuard guard;
  ProgressBar bar("scoring", 0);
  std::int64_t rows = 0;
  for (;; ++rows) {
    ScoreRow row;
    const std::vector<bool> found = next_row(sources, row);
    if (std::find(found.begin(), found.end(), false) != found.end()) {
      if (std::find(found.begin(), found.end(), true) != found.end()) {
        fail_on_counts(flags, sources, found, rows);
      }
      break;
    }
    if (interrupted()) {
      fail(ErrorKind::kInterrupted, "stopped after ", rows, " texts");
    }
    visit(row);
    bar.update(static_cast<double>(rows));
  }
  require(rows > 0, flags.name_of(0), " has no text");
}

}  // namespace weft::cli
