// SPDX-License-Identifier: Apache-2.0
// One file open at a time.
#include "weft/readers/record_text.h"

#include <sstream>
#include <system_error>
#include <utility>

#include "weft/core/log.h"
#include "weft/core/system/option_name.h"
#include "weft/readers/file_list.h"
#include "weft/readers/genome_documents.h"
#include "weft/readers/input/file_kind.h"
#include "weft/readers/text_source.h"

namespace weft::readers {
namespace {

void add_report(ReadReport& total, const ReadReport& more) {
  total.first_skipped = total.skipped == 0 ? more.first_skipped : total.first_skipped;
  total.records += more.records;
  total.skipped += more.skipped;
}

bool begins_with_header(const std::filesystem::path& path) {
  TextSource source(path, {});
  return source.peek() == '>';
}

}  // namespace

RecordText::RecordText(const std::vector<std::string>& paths, const RecordTextOptions& options)
    : options_(options), files_(list_files(paths)) {
  for (const std::filesystem::path& file : files_) {
    std::error_code ignored;
    const auto size = std::filesystem::file_size(file, ignored);
    total_bytes_ += ignored ? 0 : static_cast<std::int64_t>(size);
  }
}

void RecordText::close() {
  if (sequences_) {
    add_report(report_, sequences_->report());
  }
  texts_.reset();
  sequences_.reset();
}

void RecordText::open(const std::filesystem::path& file) {
  if (options_.dna && begins_with_header(file)) {
    sequences_ = std::make_unique<FastaReader>(file, options_.reading);
    return;
  }
  ByteSource bytes(file);
  InputTextOptions reading;
  reading.format = options_.format;
  reading.text_field = options_.text_field;
  if (reading.format == "auto" && decide_kind(bytes, {options_.text_field}).format == "fasta") {
    log_warning(bytes.name(), ": is FASTA, of which each line is read as a text, headers too; ", option("dna"),
                " reads sequences");
    reading.format = "lines";
  }
  texts_ = std::make_unique<InputTexts>(std::move(bytes), reading);
}

// A file that cannot be opened is behind when it is found malformed.
bool RecordText::open_next() {
  close();
  if (next_file_ == files_.size()) {
    return false;
  }
  const std::filesystem::path& file = files_[next_file_++];
  try {
    open_or_malformed([&] { open(file); });
  } catch (const MalformedRecord& error) {
    skip(error);
  }
  return true;
}

// Counts what is malformed, or gives the error on that is being handled.
void RecordText::skip(const MalformedRecord& error) {
  if (!options_.reading.skip_malformed) {
    throw;
  }
  add_report(report_, {.skipped = 1, .first_skipped = error.what()});
}

bool RecordText::next_sentence(std::string& text) {
  if (sentences_.empty()) {
    FastaRecord record;
    if (!sequences_->next(record)) {
      return false;
    }
    cut_genome(record.sequence, sequence_++, {.copies = 1}, [&](const std::string& document) {
      std::istringstream lines(document);
      for (std::string line; std::getline(lines, line);) {
        sentences_.push_back(line + "\n");
      }
    });
  }
  text = std::move(sentences_.front());
  sentences_.pop_front();
  return true;
}

// A reader stands behind a record that it found malformed.
bool RecordText::next_text(std::string& text) {
  InputText found;
  while (true) {
    try {
      if (!texts_->next(found)) {
        return false;
      }
      check_utf8(found.first, found.where);
      if (!found.first.empty()) {
        ++report_.records;
        text = std::move(found.first) + "\n";
        return true;
      }
    } catch (const MalformedRecord& error) {
      skip(error);
    }
  }
}

bool RecordText::read_one(std::string& text) {
  if (sequences_) {
    return next_sentence(text);
  }
  return texts_ && next_text(text);
}

bool RecordText::next(std::string& text) {
  while (!read_one(text)) {
    if (!open_next()) {
      return false;
    }
  }
  return true;
}

ReadReport RecordText::report() const {
  ReadReport total = report_;
  if (sequences_) {
    add_report(total, sequences_->report());
  }
  return total;
}

}  // namespace weft::readers
