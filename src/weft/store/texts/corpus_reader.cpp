// SPDX-License-Identifier: Apache-2.0
// One file open at a time.
#include "weft/store/texts/corpus_reader.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/readers/byte_source.h"
#include "weft/readers/file_list.h"
#include "weft/readers/input/columns.h"
#include "weft/readers/input/file_kind.h"
#include "weft/readers/text_source.h"

namespace weft::store {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 5> kIdFields = {"_id", "id", "doc_id", "docid", "pid"};
constexpr std::array<std::string_view, 1> kFastaId = {"name"};
constexpr std::array<std::string_view, 1> kTitle = {"title"};
constexpr std::array<std::string_view, 2> kBeirCorpora = {"corpus.jsonl", "corpus.jsonl.gz"};
constexpr std::array<std::string_view, 2> kBeirQueries = {"queries.jsonl", "queries.jsonl.gz"};

// The first of `names` that the record has, as text; empty where it has none of them, or null. Errors: MalformedRecord.
std::string field_text(const formats::Json& fields, std::span<const std::string_view> names, const std::string& where,
                       bool may_be_empty) {
  for (const std::string_view& name : names) {
    const auto found = fields.find(readers::usual_field(fields, {&name, 1}));
    if (found == fields.end() || found->is_null()) {
      continue;
    }
    if (found->is_string() && (may_be_empty || !found->get_ref<const std::string&>().empty())) {
      return found->get<std::string>();
    }
    if (!found->is_number_integer()) {
      readers::malformed(where, ": expected a text or a whole number at ", quote(found.key()), ", found ",
                         quote(found->dump(-1, ' ', true, formats::Json::error_handler_t::replace), 60));
    }
    return found->dump();
  }
  return {};
}

// What a file is to be read as; "text" for one text.
std::string corpus_format(readers::ByteSource& bytes, const CorpusOptions& options) {
  if (options.format != "auto") {
    return options.format;
  }
  const readers::FileKind kind = readers::decide_kind(bytes, {options.text_field});
  return kind.sure ? kind.format : "text";
}

// Whether `file` is the store, which may not be there yet, or one of the files that SQLite keeps beside it.
bool is_of_store(const fs::path& file, const fs::path& store) {
  if (store.empty() || !file.filename().native().starts_with(store.filename().native())) {
    return false;
  }
  const std::string rest = file.filename().native().substr(store.filename().native().size());
  std::error_code ignored;
  return (rest.empty() || rest == "-wal" || rest == "-shm") &&
         fs::equivalent(file.parent_path(), fs::absolute(store, ignored).parent_path(), ignored);
}

bool is_of_beir(const std::string& name) {
  return std::ranges::find(kBeirCorpora, name) != kBeirCorpora.end() ||
         std::ranges::find(kBeirQueries, name) != kBeirQueries.end() || name.starts_with("qrels/");
}

// The files of a folder of BEIR that BEIR has not: whoever put them there may expect them to be read.
void warn_of_left_out(const std::string& folder, std::string_view corpus, const fs::path& store) {
  constexpr std::size_t kMostNames = 3;
  std::vector<std::string> names;
  for (const fs::path& file : readers::list_files({folder})) {
    if (std::string name = file.lexically_relative(folder).generic_string();
        !is_of_beir(name) && !is_of_store(file, store)) {
      names.push_back(std::move(name));
    }
  }
  if (!names.empty()) {
    log_warning(quote(folder, 4096), ": has ", corpus,
                ", so it is a folder of BEIR and nothing else is read; left out: ", quoted_list(names, kMostNames),
                "; name these files to read them too");
  }
}

}  // namespace

CorpusReader::CorpusReader(const std::vector<std::string>& paths, const CorpusOptions& options) : options_(options) {
  require(!paths.empty(), "no texts were given: expected files or folders");
  for (const std::string& path : paths) {
    const std::size_t before = sources_.size();
    add_sources(path);
    if (sources_.size() == before && paths.size() > 1) {
      log_warning(quote(path, 4096), " holds no file");
    }
  }
}

void CorpusReader::add_sources(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    sources_.push_back({readers::list_files({path}).front(), path});
    return;
  }
  for (const std::string_view name : kBeirCorpora) {
    if (const fs::path file = fs::path(path) / name; fs::is_regular_file(file, ignored)) {
      sources_.push_back({file, std::string(name)});
      warn_of_left_out(path, name, options_.store);
      return;
    }
  }
  for (const fs::path& file : readers::list_files({path})) {
    if (is_of_store(file, options_.store)) {
      continue;
    }
    sources_.push_back({file, file.lexically_relative(path).generic_string()});
  }
}

bool CorpusReader::open_next() {
  records_.reset();
  if (next_ == sources_.size()) {
    return false;
  }
  const Source& source = sources_[next_++];
  number_ = 0;
  readers::open_or_malformed([&] { open(source); });
  return true;
}

void CorpusReader::open(const Source& source) {
  readers::ByteSource bytes(source.file);
  format_ = corpus_format(bytes, options_);
  if (format_ == "squad" || format_ == "conll") {
    throw Error(ErrorKind::kUnsupported,
                concat(bytes.name(), ": is ", format_, ", whose records are no texts with ids"),
                concat(option("format"), " lines reads each line as a text"));
  }
  if (format_ != "text") {
    records_.emplace(std::move(bytes), readers::InputTextOptions{
                                           .format = format_, .text_field = options_.text_field, .keep_fields = true});
    return;
  }
  CorpusText text{.id = source.id, .where = bytes.name(), .whole = true};
  text.text = readers::read_whole_text(std::move(bytes));
  readers::check_utf8(text.text, text.where);
  whole_ = std::move(text);
}

void CorpusReader::take(readers::InputText& record, CorpusText& text) const {
  readers::check_utf8(record.first, record.where);
  text = {.id = {}, .title = {}, .text = std::move(record.first), .where = std::move(record.where)};
  if (record.fields.is_object()) {
    const bool is_fasta = format_ == "fasta";
    text.id = is_fasta ? field_text(record.fields, kFastaId, text.where, true)
                       : field_text(record.fields, kIdFields, text.where, false);
    text.title = field_text(record.fields, kTitle, text.where, true);
  }
  if (text.id.empty()) {
    text.id = concat(sources_[next_ - 1].id, ':', number_);
  }
}

bool CorpusReader::read(CorpusText& text) {
  while (true) {
    if (whole_) {
      text = std::move(*whole_);
      whole_.reset();
      return true;
    }
    readers::InputText record;
    if (records_) {
      ++number_;
      if (records_->next(record)) {
        take(record, text);
        return true;
      }
    }
    if (!open_next()) {
      return false;
    }
  }
}

bool CorpusReader::next(CorpusText& text) {
  while (true) {
    try {
      const bool found = read(text);
      report_.records += found ? 1 : 0;
      return found;
    } catch (const readers::MalformedRecord& error) {
      if (!options_.skip_malformed) {
        throw;
      }
      if (report_.skipped++ == 0) {
        report_.first_skipped = error.what();
      }
    }
  }
}

}  // namespace weft::store
