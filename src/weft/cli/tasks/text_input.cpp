// SPDX-License-Identifier: Apache-2.0
// Lines are bytes: what is no UTF-8 is the tokeniser's business, which keeps offsets right.
#include "weft/cli/tasks/text_input.h"

#include <filesystem>
#include <iostream>
#include <iterator>

#include <unistd.h>

#include "weft/cli/failure.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"

namespace weft::cli {
namespace {

void refuse_terminal() {
  if (isatty(STDIN_FILENO) != 0) {
    throw UsageError("no text was given", "give TEXT, --file FILE, or a pipe on standard input");
  }
}

void open_lines(std::ifstream& file, const std::string& path) {
  std::error_code error;
  const bool directory = std::filesystem::is_directory(path, error);
  if (!directory) {
    file.open(path, std::ios::binary);
  }
  if (directory || !file) {
    fail(ErrorKind::kIo, quote(path, 4096), directory ? ": is a directory, expected a file" : ": cannot be read");
  }
}

}  // namespace

void add_text_arguments(CLI::App& app, TextSource& source, bool with_pairs) {
  app.add_option("TEXT", source.texts, "texts; without any, one text a line of --file or standard input");
  app.add_option("--file", source.file, "file with one text a line; - is standard input")->option_text("FILE");
  if (with_pairs) {
    app.add_flag("--pairs", source.pairs, "each text is two, with a tab between them");
  }
}

DocumentReader::DocumentReader(const TextSource& source) : source_(source) {
  if (!source.texts.empty()) {
    if (!source.file.empty()) {
      throw UsageError("texts as arguments and --file cannot both be given");
    }
    return;
  }
  kind_ = "line";
  if (source.file.empty() || source.file == "-") {
    refuse_terminal();
    lines_ = &std::cin;
    return;
  }
  open_lines(file_, source.file);
  lines_ = &file_;
}

bool DocumentReader::read_text(std::string& text) {
  if (lines_ == nullptr) {
    const bool more = number_ < static_cast<std::int64_t>(source_.texts.size());
    text = more ? source_.texts[static_cast<std::size_t>(number_)] : std::string();
    return more;
  }
  if (!std::getline(*lines_, text)) {
    if (lines_->bad()) {
      fail(ErrorKind::kIo, "reading line ", number_ + 1, " failed");
    }
    return false;
  }
  if (text.ends_with('\r')) {
    text.pop_back();
  }
  return true;
}

tasks::Document DocumentReader::document_of(std::string text) const {
  tasks::Document document;
  document.name = concat(kind_, " ", number_);
  if (source_.pairs) {
    const std::size_t tab = text.find('\t');
    require(tab != std::string::npos && text.find('\t', tab + 1) == std::string::npos, document.name,
            ": --pairs expects two texts with one tab between them");
    document.second = text.substr(tab + 1);
    text.resize(tab);
  }
  document.first = std::move(text);
  return document;
}

std::vector<tasks::Document> DocumentReader::next(std::size_t count) {
  std::vector<tasks::Document> documents;
  std::string text;
  while (documents.size() < count && read_text(text)) {
    ++number_;
    documents.push_back(document_of(std::move(text)));
  }
  require(number_ > 0, "no text was given: ", source_.file.empty() ? "standard input" : quote(source_.file, 4096),
          " has no line");
  return documents;
}

std::vector<tasks::Document> whole_files(const std::vector<std::string>& paths) {
  std::vector<tasks::Document> documents;
  for (const std::string& path : paths) {
    tasks::Document document;
    if (path == "-") {
      document.first.assign(std::istreambuf_iterator<char>(std::cin), {});
      document.name = "standard input";
    } else {
      document.first = read_file(path);
      document.name = quote(path, 4096);
    }
    documents.push_back(std::move(document));
  }
  return documents;
}

}  // namespace weft::cli
