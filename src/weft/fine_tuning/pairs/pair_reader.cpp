// SPDX-License-Identifier: Apache-2.0
// One function a form of file gives the next pair of an open file.
#include "weft/fine_tuning/pairs/pair_reader.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/fine_tuning/record_fields.h"
#include "weft/readers/file_list.h"
#include "weft/readers/json_lines_reader.h"
#include "weft/readers/table_reader.h"
#include "weft/readers/text_source.h"

namespace weft::fine_tuning {
namespace {

namespace fs = std::filesystem;
using Next = std::function<bool(TextPair&)>;

constexpr std::array<std::string_view, 5> kSourceNames = {"source", "src", "text", "document", "article"};
constexpr std::array<std::string_view, 5> kTargetNames = {"target", "tgt", "translation", "summary", "abstract"};

// The field that is named, or the first usual one that `has` knows; empty where there is none.
std::string field_of(const std::string& named, const std::array<std::string_view, 5>& usual,
                     const std::function<bool(const std::string&)>& has) {
  if (!named.empty()) {
    return named;
  }
  const auto found =
      std::find_if(usual.begin(), usual.end(), [&](std::string_view name) { return has(std::string(name)); });
  return found == usual.end() ? std::string() : std::string(*found);
}

Next open_aligned(const fs::path& source, const fs::path& target, const readers::ReadOptions& options) {
  struct Files {
    readers::TextSource source;
    readers::TextSource target;
  };
  auto files = std::make_shared<Files>(Files{{source, options}, {target, options}});
  return [files](TextPair& pair) {
    files->source.begin_record();
    files->target.begin_record();
    const bool has_source = files->source.next_line(pair.source);
    const bool has_target = files->target.next_line(pair.target);
    if (has_source != has_target) {
      const readers::TextSource& ended = has_source ? files->target : files->source;
      const readers::TextSource& other = has_source ? files->source : files->target;
      fail(ErrorKind::kFormat, quote(ended.path().native(), 4096), " ends before line ", other.line(), " of ",
           quote(other.path().native(), 4096), ": line N of both files must belong together");
    }
    pair.where = files->source.where();
    if (has_source) {
      readers::check_utf8(pair.source, files->source.where());
      readers::check_utf8(pair.target, files->target.where());
    }
    return has_source;
  };
}

Next open_table(const fs::path& file, const std::string& format, const PairConfig& config,
                const readers::ReadOptions& options) {
  readers::TableOptions table = readers::TableOptions::of("table." + format);
  table.header = config.header;
  auto reader = std::make_shared<readers::TableReader>(file, table, options);
  auto row = std::make_shared<readers::TableRow>();
  return [=](TextPair& pair) {
    if (!reader->next(*row)) {
      return false;
    }
    const std::vector<std::string>& columns = reader->columns();
    const auto has = [&](const std::string& name) {
      return std::find(columns.begin(), columns.end(), name) != columns.end();
    };
    pair.where = concat(quote(file.native(), 4096), " line ", row->line);
    const std::string source_name = field_of(config.source_field, kSourceNames, has);
    const std::string target_name = field_of(config.target_field, kTargetNames, has);
    // Of two columns, the one that has no known name is the other side; without any, the source is the first.
    const bool two = columns.size() == 2;
    const bool by_place = two && source_name.empty() && target_name.empty();
    const auto column = [&](const std::string& name, const auto& usual, const std::string& other, std::size_t place) {
      return by_place                ? place
             : !name.empty()         ? reader->column(name)
             : two && !other.empty() ? 1 - reader->column(other)
                                     : reader->column(std::string(usual.front()));
    };
    const std::size_t source = column(source_name, kSourceNames, target_name, 0);
    const std::size_t target = column(target_name, kTargetNames, source_name, 1);
    require(source != target, pair.where, ": source and target are the same column; name them by --source-field and ",
            "--target-field");
    pair.source = row->fields[source];
    pair.target = row->fields[target];
    return true;
  };
}

Next open_json_lines(const fs::path& file, const PairConfig& config, const readers::ReadOptions& options) {
  auto reader = std::make_shared<readers::JsonLinesReader>(file, options);
  return [=](TextPair& pair) {
    readers::JsonRecord record;
    if (!reader->next(record)) {
      return false;
    }
    pair.where = concat(quote(file.native(), 4096), " line ", record.line);
    const auto text = [&](const std::string& named, const auto& usual) {
      const std::string name =
          field_of(named, usual, [&](const std::string& one) { return record.object.contains(one); });
      return readers::string_field(record.object, name.empty() ? std::string(usual.front()) : name, pair.where);
    };
    require(config.source_field.empty() || config.source_field != config.target_field, pair.where,
            ": source_field and target_field name the same field, ", quote(config.source_field));
    pair.source = text(config.source_field, kSourceNames);
    pair.target = text(config.target_field, kTargetNames);
    return true;
  };
}

bool is_blank(const std::string& text) { return text.find_first_not_of(" \t\r\n\v\f") == std::string::npos; }

}  // namespace

PairReader::PairReader(const PairConfig& config, bool held_out)
    : Reader({.skip_malformed = config.on_error == "skip"}) {
  const auto& sources = held_out ? config.eval_source : config.train_source;
  const auto& targets = held_out ? config.eval_target : config.train_target;
  const auto& data = held_out ? config.eval_data : config.train_data;
  // What a file's own reader finds malformed is skipped and counted here.
  const readers::ReadOptions options;
  if (!sources.empty()) {
    const std::vector<fs::path> source_files = readers::list_files(sources);
    const std::vector<fs::path> target_files = readers::list_files(targets);
    require(source_files.size() == target_files.size(), "there must be as many files of targets as of sources, found ",
            target_files.size(), " and ", source_files.size());
    for (std::size_t i = 0; i < source_files.size(); ++i) {
      files_.emplace_back([=] { return open_aligned(source_files[i], target_files[i], options); });
    }
  }
  for (const fs::path& file : data.empty() ? std::vector<fs::path>() : readers::list_files(data)) {
    const std::string format = format_of(file);
    if (format == "jsonl") {
      files_.emplace_back([=] { return open_json_lines(file, config, options); });
    } else if (format == "csv" || format == "tsv") {
      files_.emplace_back([=] { return open_table(file, format, config, options); });
    } else {
      throw Error(ErrorKind::kFormat,
                  concat(quote(file.native(), 4096), ": pairs are read from .csv, .tsv and .jsonl files"),
                  "two aligned text files are given by --train-source and --train-target");
    }
  }
}

bool PairReader::read(TextPair& pair) {
  while (true) {
    if (!next_) {
      if (opened_ == files_.size()) {
        return false;
      }
      next_ = files_[opened_++]();
    }
    if (next_(pair)) {
      break;
    }
    next_ = nullptr;
  }
  if (is_blank(pair.source) || is_blank(pair.target)) {
    readers::malformed(pair.where, ": the ", is_blank(pair.source) ? "source" : "target", " is empty");
  }
  return true;
}

}  // namespace weft::fine_tuning
