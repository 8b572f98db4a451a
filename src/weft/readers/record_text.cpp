// SPDX-License-Identifier: Apache-2.0
// One file open at a time.
#include "weft/readers/record_text.h"

#include <sstream>
#include <system_error>

#include "weft/readers/file_list.h"
#include "weft/readers/genome_documents.h"

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
  if (lines_) {
    add_report(closed_, lines_->report());
  }
  if (sequences_) {
    add_report(closed_, sequences_->report());
  }
  lines_.reset();
  sequences_.reset();
}

bool RecordText::open_next() {
  close();
  if (next_file_ == files_.size()) {
    return false;
  }
  const std::filesystem::path& file = files_[next_file_++];
  if (options_.dna && begins_with_header(file)) {
    sequences_ = std::make_unique<FastaReader>(file, options_.reading);
  } else {
    lines_ = std::make_unique<TextReader>(file, TextUnit::kLine, options_.reading);
  }
  return true;
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

bool RecordText::read_one(std::string& text) {
  if (sequences_) {
    return next_sentence(text);
  }
  TextDocument document;
  if (!lines_ || !lines_->next(document)) {
    return false;
  }
  text = std::move(document.text) + "\n";
  return true;
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
  ReadReport total = closed_;
  if (lines_) {
    add_report(total, lines_->report());
  }
  if (sequences_) {
    add_report(total, sequences_->report());
  }
  return total;
}

}  // namespace weft::readers
