// SPDX-License-Identifier: Apache-2.0
// One function a form of file gives the next pair of an open file.
#include "weft/fine_tuning/pairs/pair_reader.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/readers/file_list.h"
#include "weft/readers/input/columns.h"
#include "weft/readers/input/file_kind.h"
#include "weft/readers/input/no_text.h"
#include "weft/readers/json_document_reader.h"
#include "weft/readers/json_lines_reader.h"
#include "weft/readers/table_reader.h"
#include "weft/readers/text_reader.h"
#include "weft/readers/text_source.h"
#include "weft/text/pair/word_ids.h"

namespace weft::fine_tuning {
namespace {

namespace fs = std::filesystem;
using Next = std::function<bool(TextPair&)>;

// The links of a pair that has been read. All count alike, sure or possible.
void add_links(TextPair& pair, std::string_view line, const std::string& where) {
  try {
    const metrics::Alignment alignment = metrics::parse_alignment(line);
    metrics::check_words(alignment, std::ssize(text::words_between_blanks(pair.source)),
                         std::ssize(text::words_between_blanks(pair.target)));
    pair.links = alignment.sure;
    pair.links->insert(alignment.possible.begin(), alignment.possible.end());
  } catch (const Error& error) {
    readers::malformed(where, ": ", error.what());
  }
}

/// Files of which line N belongs together.
class AlignedFiles {
 public:
  /// `alignments` is empty where none are read.
  AlignedFiles(const fs::path& source, const fs::path& target, const fs::path& alignments,
               const readers::ReadOptions& options)
      : source_(text_of(source), options), target_(text_of(target), options) {
    if (!alignments.empty()) {
      alignments_.emplace(text_of(alignments), options);
    }
  }

  bool next(TextPair& pair) {
    std::string links;
    const bool has_source = next_line(source_, pair.source);
    check_ends(source_, has_source, target_, next_line(target_, pair.target));
    if (alignments_) {
      check_ends(source_, has_source, *alignments_, next_line(*alignments_, links));
    }
    pair.where = source_.where();
    if (has_source) {
      readers::check_utf8(pair.source, source_.where());
      readers::check_utf8(pair.target, target_.where());
      if (alignments_) {
        add_links(pair, links, alignments_->where());
      }
    }
    return has_source;
  }

 private:
  static readers::ByteSource text_of(const fs::path& file) {
    readers::ByteSource bytes(file);
    readers::refuse_no_text(bytes);
    return bytes;
  }

  static bool next_line(readers::TextSource& file, std::string& line) {
    file.begin_record();
    return file.next_line(line);
  }

  static void check_ends(const readers::TextSource& first, bool has_first, const readers::TextSource& second,
                         bool has_second) {
    if (has_first == has_second) {
      return;
    }
    const readers::TextSource& ended = has_first ? second : first;
    const readers::TextSource& other = has_first ? first : second;
    fail(ErrorKind::kFormat, quote(ended.path().native(), 4096), " ends before line ", other.line(), " of ",
         quote(other.path().native(), 4096), ": line N of both files must belong together");
  }

  readers::TextSource source_;
  readers::TextSource target_;
  std::optional<readers::TextSource> alignments_;
};

Next open_table(const fs::path& file, const std::string& format, const PairConfig& config,
                const readers::ReadOptions& options) {
  const readers::TableOptions table = readers::TableOptions::of_format(format, config.header);
  auto reader = std::make_shared<readers::TableReader>(file, table, options);
  auto row = std::make_shared<readers::TableRow>();
  return [=](TextPair& pair) {
    if (!reader->next(*row)) {
      return false;
    }
    const std::vector<std::string>& columns = reader->columns();
    pair.where = concat(quote(file.native(), 4096), " line ", row->line);
    const std::string source_name =
        config.source_field.empty() ? readers::usual_column(columns, readers::kSourceFields) : config.source_field;
    const std::string target_name =
        config.target_field.empty() ? readers::usual_column(columns, readers::kTargetFields) : config.target_field;
    // Of two columns, the one that has no known name is the other side; without any, the source is the first.
    if (makes_noise(config)) {
      pair.source = row->fields[columns.size() == 1 && source_name.empty()
                                    ? 0
                                    : reader->column(source_name.empty() ? std::string(readers::kSourceFields.front())
                                                                         : source_name)];
      pair.target.clear();
      return true;
    }
    const bool two = columns.size() == 2;
    const bool by_place = two && source_name.empty() && target_name.empty();
    const auto column = [&](const std::string& name, const auto& usual, const std::string& other, std::size_t place) {
      return by_place                ? place
             : !name.empty()         ? reader->column(name)
             : two && !other.empty() ? 1 - reader->column(other)
                                     : reader->column(usual.front());
    };
    const std::size_t source = column(source_name, readers::kSourceFields, target_name, 0);
    const std::size_t target = column(target_name, readers::kTargetFields, source_name, 1);
    require(source != target, pair.where, ": source and target are the same column; name them by ",
            option("source_field"), " and ", option("target_field"));
    pair.source = row->fields[source];
    pair.target = row->fields[target];
    if (!config.alignment_field.empty()) {
      add_links(pair, row->fields[reader->column(config.alignment_field)], pair.where);
    }
    return true;
  };
}

Next open_json(const fs::path& file, const std::string& format, const PairConfig& config,
               const readers::ReadOptions& options) {
  std::shared_ptr<readers::Reader<readers::JsonRecord>> reader =
      readers::open_json_records(readers::ByteSource(file), format, options);
  return [=](TextPair& pair) {
    readers::JsonRecord record;
    if (!reader->next(record)) {
      return false;
    }
    pair.where = concat(quote(file.native(), 4096), " line ", record.line);
    const auto text = [&](const std::string& named, const auto& usual) {
      const std::string name = named.empty() ? readers::usual_field(record.object, usual) : named;
      return readers::string_field(record.object, name.empty() ? std::string(usual.front()) : name, pair.where);
    };
    require(config.source_field.empty() || config.source_field != config.target_field, pair.where,
            ": source_field and target_field name the same field, ", Quoted(config.source_field));
    pair.source = text(config.source_field, readers::kSourceFields);
    if (makes_noise(config)) {
      pair.target.clear();
      return true;
    }
    pair.target = text(config.target_field, readers::kTargetFields);
    if (!config.alignment_field.empty()) {
      add_links(pair, readers::string_field(record.object, config.alignment_field, pair.where), pair.where);
    }
    return true;
  };
}

// How the pairs of text files are opened, one after another; `alignments` may be empty.
std::vector<std::function<Next()>> aligned_files(const std::vector<std::string>& sources,
                                                 const std::vector<std::string>& targets,
                                                 const std::vector<std::string>& alignments) {
  if (sources.empty()) {
    return {};
  }
  const std::vector<fs::path> source_files = readers::list_files(sources);
  const auto beside = [&](const std::vector<std::string>& paths, const char* what) {
    const std::vector<fs::path> files = readers::list_files(paths);
    require(
        files.size() == source_files.size(), "there must be as many files of ", what, " as of sources, found ",
        files.size(), " in ", [&] { return quoted_list(paths, 3); }, " and ", source_files.size(), " in ",
        [&] { return quoted_list(sources, 3); });
    return files;
  };
  const std::vector<fs::path> target_files = beside(targets, "targets");
  const std::vector<fs::path> links =
      alignments.empty() ? std::vector<fs::path>(source_files.size()) : beside(alignments, "alignments");
  std::vector<std::function<Next()>> opened;
  opened.reserve(source_files.size());
  for (std::size_t i = 0; i < source_files.size(); ++i) {
    opened.emplace_back([source = source_files[i], target = target_files[i], link = links[i]]() -> Next {
      auto files = std::make_shared<AlignedFiles>(source, target, link, readers::ReadOptions());
      return [files](TextPair& pair) { return files->next(pair); };
    });
  }
  return opened;
}

// A file is a text.
std::vector<std::function<Next()>> plain_files(const std::vector<std::string>& paths) {
  std::vector<std::function<Next()>> opened;
  for (const fs::path& file : paths.empty() ? std::vector<fs::path>() : readers::list_files(paths)) {
    opened.emplace_back([file]() -> Next {
      readers::ByteSource bytes(file);
      readers::refuse_no_text(bytes);
      auto reader = std::make_shared<readers::TextReader>(file, readers::TextUnit::kFile);
      return [file, reader](TextPair& pair) {
        readers::TextDocument document;
        const bool found = reader->next(document);
        pair.source = std::move(document.text);
        pair.target.clear();
        pair.where = quote(file.native(), 4096);
        return found;
      };
    });
  }
  return opened;
}

[[noreturn]] void fail_on_kind(const fs::path& file, const readers::FileKind& kind, bool plain) {
  throw Error(
      ErrorKind::kFormat,
      concat(quote(file.native(), 4096), ": is ", readers::kind_text(kind),
             ", but pairs are read from tables (.csv, .tsv) and JSON (.jsonl, .json)"),
      plain ? concat("text files are given by ", option("train_text"))
            : concat("two aligned text files are given by ", option("train_source"), " and ", option("train_target")));
}

bool is_blank(const std::string& text) { return text.find_first_not_of(" \t\r\n\v\f") == std::string::npos; }

}  // namespace

PairReader::PairReader(const PairConfig& given, bool held_out)
    : Reader({.skip_malformed = given.on_error == "skip"}), plain_(makes_noise(given)) {
  PairConfig config = given;
  if (held_out) {
    config.alignment_field.clear();  // alignments are learned, and not measured
  }
  const auto& sources = held_out ? config.eval_source : config.train_source;
  const auto& targets = held_out ? config.eval_target : config.train_target;
  const auto& data = held_out ? config.eval_data : config.train_data;
  // What a file's own reader finds malformed is skipped and counted here.
  const readers::ReadOptions options;
  files_ = plain_ ? plain_files(held_out ? config.eval_text : config.train_text)
                  : aligned_files(sources, targets, held_out ? std::vector<std::string>() : config.alignments);
  for (const fs::path& file : data.empty() ? std::vector<fs::path>() : readers::list_files(data)) {
    const readers::FileKind kind = readers::kind_of_file(file, {config.source_field, config.target_field});
    const std::string format = kind.format;
    if (format == "jsonl" || format == "json") {
      files_.emplace_back([=] { return open_json(file, format, config, options); });
    } else if (format == "csv" || format == "tsv") {
      files_.emplace_back([=] { return open_table(file, format, config, options); });
    } else {
      fail_on_kind(file, kind, plain_);
    }
    note_kind(readers::kind_text(kind));
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
  if (plain_ && is_blank(pair.source)) {
    readers::malformed(pair.where, ": the text is empty");
  }
  if (!plain_ && (is_blank(pair.source) || is_blank(pair.target))) {
    readers::malformed(pair.where, ": the ", is_blank(pair.source) ? "source" : "target", " is empty");
  }
  return true;
}

}  // namespace weft::fine_tuning
