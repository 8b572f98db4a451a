// SPDX-License-Identifier: Apache-2.0
// `weft data check`: a data set read to its end before anything trains on it.
#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/cli/front/commands/table.h"
#include "weft/cli/front/data/found.h"
#include "weft/cli/front/data/genome.h"
#include "weft/cli/front/data/noise.h"
#include "weft/cli/front/data/trees.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/core/work/watched_progress.h"
#include "weft/readers/byte_source.h"
#include "weft/readers/conll_reader.h"
#include "weft/readers/fasta_reader.h"
#include "weft/readers/file_list.h"
#include "weft/readers/input/columns.h"
#include "weft/readers/input/file_kind.h"
#include "weft/readers/input/group_columns.h"
#include "weft/readers/input/no_text.h"
#include "weft/readers/json_document_reader.h"
#include "weft/readers/json_lines_reader.h"
#include "weft/readers/open_answers/hotpot_reader.h"
#include "weft/readers/open_answers/natural_questions_reader.h"
#include "weft/readers/open_answers/trivia_reader.h"
#include "weft/readers/open_answers/wikihop_reader.h"
#include "weft/readers/squad_reader.h"
#include "weft/readers/table_reader.h"
#include "weft/readers/text_reader.h"

namespace weft::cli {
namespace {

using formats::Json;
using readers::ReadOptions;
using readers::ReadReport;

constexpr std::string_view kCheckExamples =
    "  weft data check train.jsonl held-out.csv\n"
    "  weft data check squad/dev-v2.0.json --format squad --on-error skip --json";
struct CheckConfig {
  std::string format = "auto";
  bool header = true;
  std::string on_error = "fail";

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = CheckConfig;
    visit(Field{"format", &C::format, "format of the files; auto goes by what stands in each file, then by its name"}
              .one_of({"auto", "text", "lines", "jsonl", "json", "csv", "tsv", "conll", "squad", "fasta", "hotpotqa",
                       "triviaqa", "nq", "wikihop"}));
    visit(Field{"header", &C::header, "the first row of a table names its columns; otherwise they are 1, 2, ..."});
    visit(Field{"on_error", &C::on_error,
                "what to do with malformed records, and files that hold no text: end with an error, or only count them"}
              .one_of({"fail", "skip"}));
  }
};

struct DataOptions {
  std::vector<std::string> paths;
  Json given = Json::object();
  bool json = false;
};

template <typename ReaderType, typename... More>
ReadReport count(const std::filesystem::path& file, const ReadOptions& options, const More&... more) {
  return readers::for_each_record(
      std::vector{file},
      [&](const std::filesystem::path& path) { return std::make_unique<ReaderType>(path, more..., options); },
      [](const auto&) {});
}

// What the file says of itself stands behind its questions, and training needs it.
ReadReport count_trivia(const std::filesystem::path& file, const ReadOptions& options) {
  readers::TriviaReader reader(file, options);
  for (readers::TriviaQuestion question; reader.next(question);) {
  }
  static_cast<void>(reader.domain());
  static_cast<void>(reader.verified_only());
  return reader.report();
}

ReadReport count_records(const std::string& format, bool header, const std::filesystem::path& file,
                         const ReadOptions& options) {
  if (format == "jsonl") {
    return count<readers::JsonLinesReader>(file, options);
  }
  if (format == "json") {
    return count<readers::JsonDocumentReader>(file, options);
  }
  if (format == "csv" || format == "tsv") {
    return count<readers::TableReader>(file, options, readers::TableOptions::of_format(format, header));
  }
  if (format == "conll") {
    return count<readers::ConllReader>(file, options, readers::ConllOptions{});
  }
  if (format == "squad") {
    return count<readers::SquadReader>(file, options);
  }
  if (format == "fasta") {
    return count<readers::FastaReader>(file, options);
  }
  if (format == "hotpotqa") {
    return count<readers::HotpotReader>(file, options);
  }
  if (format == "triviaqa") {
    return count_trivia(file, options);
  }
  if (format == "nq") {
    return count<readers::NaturalQuestionsReader>(file, options);
  }
  if (format == "wikihop") {
    return count<readers::WikiHopReader>(file, options);
  }
  return count<readers::TextReader>(file, options,
                                    format == "lines" ? readers::TextUnit::kLine : readers::TextUnit::kFile);
}

// The columns or JSON fields of a file.
struct FileColumns {
  std::string file;
  std::vector<std::string> columns;
  bool are_named = false;  // by the first row of a table, which may be a record
};

// What was found in all files.
struct Check {
  std::map<std::string, std::int64_t> formats;  // files of each
  std::map<std::string, std::int64_t> kinds;    // the same, with what said so
  std::vector<FileColumns> columns;             // of the first files that differ in them
  ReadReport report;

  void note_columns(const std::filesystem::path& file, const std::string& format, bool header) {
    constexpr std::size_t kMostLists = 8;
    std::vector<std::string> found = readers::columns_of(file, format, header);
    for (const std::span<const std::string_view> usual : {std::span<const std::string_view>(readers::kTextFields),
                                                          std::span<const std::string_view>(readers::kLabelFields)}) {
      readers::refuse_same_name(found, readers::usual_column(found, usual), quote(file.native(), 4096));
    }
    const bool known =
        std::any_of(columns.begin(), columns.end(), [&](const FileColumns& before) { return before.columns == found; });
    if (!found.empty() && !known && columns.size() < kMostLists) {
      columns.push_back({file.native(), std::move(found), header && (format == "csv" || format == "tsv")});
    }
  }
};

// Nothing for a file that holds no text and is counted as malformed.
std::optional<readers::FileKind> kind_to_check(const std::filesystem::path& file, const CheckConfig& config,
                                               ReadReport& report) {
  try {
    return readers::open_or_malformed([&] {
      readers::ByteSource bytes(file);
      if (config.format == "auto") {
        return readers::decide_kind(bytes);
      }
      readers::refuse_no_text(bytes);
      return readers::FileKind{config.format, ""};
    });
  } catch (const readers::MalformedRecord& error) {
    if (config.on_error == "fail") {
      throw;
    }
    report = {.skipped = 1, .first_skipped = error.what()};
    return std::nullopt;
  }
}

Check check_files(const std::vector<std::filesystem::path>& files, const CheckConfig& config) {
  Check check;
  for (const std::filesystem::path& file : files) {
    ReadReport report;
    if (const std::optional<readers::FileKind> kind = kind_to_check(file, config, report)) {
      ++check.formats[kind->format];
      ++check.kinds[readers::kind_text(*kind)];
      report = count_records(kind->format, config.header, file, {.skip_malformed = true});
      check.note_columns(file, kind->format, config.header);
    }
    check.report.first_skipped = check.report.skipped == 0 ? report.first_skipped : check.report.first_skipped;
    check.report.records += report.records;
    check.report.skipped += report.skipped;
  }
  return check;
}

// The usual column that there is, or the flag that names another.
template <std::size_t kCount>
std::string found_or_flag(const std::vector<std::string>& columns, const std::array<std::string_view, kCount>& usual,
                          const char* flag) {
  const std::string found = readers::usual_column(columns, usual);
  return found.empty() ? concat(flag, " NAME (none is called ", joined(usual, ", "), ")") : quote(found);
}

// What embed and rerank read of them, where they are texts that belong together.
std::string groups_text(const std::vector<std::string>& columns) {
  const readers::GroupColumns found = readers::usual_group_columns(columns);
  if (found.query.empty() || found.text.empty()) {
    return {};
  }
  const std::string negatives = found.negatives.empty() ? "" : ", negatives " + quoted_list(found.negatives, 12);
  const std::string score = found.score.empty() ? "" : ", score " + quote(found.score);
  return concat("; embed, rerank: query ", quote(found.query), ", text ", quote(found.text), negatives, score);
}

// Two columns that a task reads together, as the tasks of GLUE call them.
std::string pair_text(const std::vector<std::string>& columns) {
  constexpr std::array<std::array<std::string_view, 2>, 4> kPairs = {
      {{"question", "sentence"}, {"sentence1", "sentence2"}, {"question1", "question2"}, {"premise", "hypothesis"}}};
  for (const auto& [first, second] : kPairs) {
    const std::string text = readers::usual_column(columns, {&first, 1});
    const std::string pair = readers::usual_column(columns, {&second, 1});
    if (!text.empty() && !pair.empty()) {
      return concat(" (", quote(text), " with ", quote(pair), ": --text-field ", text, " --pair-field ", pair, ")");
    }
  }
  return {};
}

// What a training reads of such columns.
std::string training_text(const std::vector<std::string>& columns) {
  const std::string source = readers::usual_column(columns, readers::kSourceFields);
  const std::string target = readers::usual_column(columns, readers::kTargetFields);
  const std::string pairs =
      target.empty() ? "" : concat("; translate, summarize: source ", quote(source), ", target ", quote(target));
  return concat("classify: text ", found_or_flag(columns, readers::kTextFields, "--text-field"), pair_text(columns),
                ", label ", found_or_flag(columns, readers::kLabelFields, "--label-field"), pairs,
                groups_text(columns));
}

Json file_columns_json(const Check& check) {
  Json list = Json::array();
  const auto or_null = [](const std::string& name) { return name.empty() ? Json(nullptr) : Json(name); };
  for (const FileColumns& one : check.columns) {
    list.push_back({{"file", one.file},
                    {"columns", one.columns},
                    {"text", or_null(readers::usual_column(one.columns, readers::kTextFields))},
                    {"label", or_null(readers::usual_column(one.columns, readers::kLabelFields))}});
  }
  return list;
}

void print_check(const Check& check, std::size_t files, bool json) {
  const ReadReport& report = check.report;
  if (json) {
    print_json({{"files", files},
                {"formats", check.formats},
                {"kinds", check.kinds},
                {"columns", file_columns_json(check)},
                {"records", report.records},
                {"skipped", report.skipped},
                {"first_skipped", report.skipped == 0 ? Json(nullptr) : Json(report.first_skipped)}});
    return;
  }
  Rows rows = {{"records", concat(digits(report.records), " in ", files, files == 1 ? " file" : " files")},
               {"format", joined(check.kinds, ", ",
                                 [&](const auto& row) {
                                   return check.kinds.size() == 1 ? row.first
                                                                  : concat(row.first, " (", row.second, ")");
                                 })},
               {"skipped", digits(report.skipped)}};
  if (report.skipped > 0) {
    rows.emplace_back("the first", report.first_skipped);
  }
  for (const FileColumns& one : check.columns) {
    const std::string where = check.columns.size() > 1 ? concat(quote(one.file, 4096), ": ") : "";
    rows.emplace_back("columns", where + quoted_list(one.columns, 32));
    rows.emplace_back("training", where + training_text(one.columns));
    if (one.are_named && readers::usual_column(one.columns, readers::kTextFields).empty()) {
      rows.emplace_back("header", where + "the first row is taken for names of columns; --no-header: it is a record");
    }
  }
  std::cout << name_table(rows);
}

// All records are read before a malformed one is an error, so that the error says how many there are.
void check_data(const DataOptions& options) {
  CheckConfig config;
  formats::update_from_json(config, options.given, "weft data check");
  const std::vector<std::filesystem::path> files = readers::list_files(options.paths);
  std::optional<BusyBar> bar("checking");
  const Check check = check_files(files, config);
  bar.reset();
  const ReadReport& report = check.report;
  const std::int64_t all = report.records + report.skipped;
  const bool fails = report.skipped > 0 && config.on_error == "fail";
  if (options.json || (!fails && all > 0)) {
    print_check(check, files.size(), options.json);
  }
  if (fails) {
    fail(ErrorKind::kFormat, digits(report.skipped), " of ", digits(all),
         " records are malformed; the first: ", report.first_skipped);
  }
  require_found(all, options.paths, "record");
}

}  // namespace

void add_data(CLI::App& parent) {
  CLI::App& group = add_command(parent, "data", std::string(kCheckExamples) + "\n" + std::string(kGenomeExamples));
  group.require_subcommand(1);
  auto check = std::make_shared<DataOptions>();
  CLI::App& checked =
      add_command(group, "check", "read every record, and report malformed ones", std::string(kCheckExamples));
  checked.add_option("PATHS", check->paths, "files and folders, plain or gzip")->required();
  add_fields<CheckConfig>(checked, {.title = "Options"}, check->given);
  add_json_flag(checked, check->json);
  checked.callback([check] { check_data(*check); });
  add_data_genome(group);
  add_data_trees(group);
  add_data_noise(group);
}

}  // namespace weft::cli
