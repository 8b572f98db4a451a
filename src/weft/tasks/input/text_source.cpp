// SPDX-License-Identifier: Apache-2.0
// Lines are bytes: what is no UTF-8 is the tokeniser's business, which keeps offsets right.
#include "weft/tasks/input/text_source.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/system/usage_error.h"
#include "weft/readers/byte_source.h"

namespace weft::tasks {
namespace {

/// For a file of no byte, and one with a header or brackets alone. What is no regular file had no byte.
std::string no_text_in(const std::string& file) {
  if (file.empty() || file == "-") {
    return "no text was given: standard input is empty";
  }
  std::error_code is_no_file;
  const bool has_bytes = std::filesystem::file_size(file, is_no_file) > 0 && !is_no_file;
  return concat("no text was given: ", quote(file, 4096), has_bytes ? " has no text" : " is empty");
}

}  // namespace

bool are_texts(const std::vector<std::string>& texts) {
  return !texts.empty() && (texts.size() > 1 || texts.front() != "-");
}

void refuse_terminal() {
  if (isatty(STDIN_FILENO) != 0) {
    throw UsageError("no text was given", concat("give TEXT, ", option("file"), " FILE, or a pipe on standard input"));
  }
}

std::string given_reading_flag(const readers::InputTextOptions& reading) {
  if (reading.format != "auto") {
    return concat(option("format"));
  }
  if (!reading.text_field.empty() || !reading.pair_field.empty()) {
    return concat(option(reading.text_field.empty() ? "pair_field" : "text_field"));
  }
  return reading.header ? std::string() : concat(option("no_header"));
}

void check_one_source(const TextSource& source) {
  if (!source.texts.empty() && !source.file.empty()) {
    throw UsageError(concat("texts as arguments and ", option("file"), " cannot both be given"));
  }
  if (const std::string flag = given_reading_flag(source.reading); are_texts(source.texts) && !flag.empty()) {
    throw UsageError(concat(flag, " says how a file is read; texts as arguments are as they stand"));
  }
}

void check_source(const TextSource& source) {
  check_one_source(source);
  if (!are_texts(source.texts) && (source.file.empty() || source.file == "-")) {
    refuse_terminal();
  }
}

DocumentReader::DocumentReader(const TextSource& source, bool keep_fields) : source_(source) {
  if (are_texts(source.texts)) {
    return;
  }
  const bool standard_input = source.file.empty() || source.file == "-";
  readers::InputTextOptions reading = source.reading;
  reading.keep_fields = keep_fields;
  records_.emplace(readers::ByteSource::stream(standard_input ? "-" : source.file), reading);
}

bool DocumentReader::read(readers::InputText& text) {
  if (records_) {
    return records_->next(text);
  }
  if (number_ == source_.texts.size()) {
    return false;
  }
  text = {source_.texts[number_], {}, concat("text ", number_ + 1)};
  if (source_.reading.pairs) {
    readers::split_pair(text);
  }
  return true;
}

std::vector<Document> DocumentReader::next(std::size_t count, std::vector<UnreadRecord>* unread) {
  std::vector<Document> documents;
  for (std::size_t taken = 0; taken < count; ++taken, ++number_) {
    readers::InputText text;
    try {
      if (!read(text)) {
        break;
      }
    } catch (const readers::MalformedRecord& error) {
      if (unread == nullptr) {
        throw;
      }
      unread->push_back({documents.size(), error.what()});
      continue;
    }
    documents.push_back({std::move(text.first), std::move(text.second), std::move(text.where), std::move(text.fields),
                         std::move(text.names_of_texts), static_cast<std::int64_t>(number_)});
  }
  require(number_ > 0, [&] { return no_text_in(source_.file); });
  return documents;
}

std::vector<Document> whole_files(const std::vector<std::string>& paths, const LookAtFile& look) {
  std::vector<Document> documents;
  for (const std::string& path : paths) {
    readers::ByteSource source = readers::ByteSource::stream(path);
    if (look) {
      look(source);
    }
    Document document;
    document.place = static_cast<std::int64_t>(documents.size());
    document.name = source.name();
    document.first = readers::read_whole_text(std::move(source));
    documents.push_back(std::move(document));
  }
  const bool has_text =
      std::any_of(documents.begin(), documents.end(), [](const auto& each) { return !each.first.empty(); });
  require(has_text || paths.empty(), [&] { return no_text_in(paths.front()); });
  return documents;
}

}  // namespace weft::tasks
