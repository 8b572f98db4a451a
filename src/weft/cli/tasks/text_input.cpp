// SPDX-License-Identifier: Apache-2.0
// Lines are bytes: what is no UTF-8 is the tokeniser's business, which keeps offsets right.
#include "weft/cli/tasks/text_input.h"

#include <unistd.h>

#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/readers/byte_source.h"
#include "weft/readers/input/input_texts.h"

namespace weft::cli {
namespace {

void refuse_terminal() {
  if (isatty(STDIN_FILENO) != 0) {
    throw UsageError("no text was given", "give TEXT, --file FILE, or a pipe on standard input");
  }
}

}  // namespace

bool are_texts(const std::vector<std::string>& arguments) {
  return !arguments.empty() && (arguments.size() > 1 || arguments.front() != "-");
}

void check_one_source(const TextSource& source) {
  if (!source.texts.empty() && !source.file.empty()) {
    throw UsageError("texts as arguments and --file cannot both be given");
  }
}

void add_text_arguments(CLI::App& app, TextSource& source, bool with_pairs) {
  app.add_option("TEXT", source.texts, "texts; without any, Weft reads --file or standard input (also as -)");
  app.add_option("--file", source.file, "file of texts, plain or gzip; - is standard input")->option_text("FILE");
  app.add_option(
         "--format", source.reading.format,
         "format of the file: one text a line, JSON, a table, FASTA, sentences in columns or SQuAD's questions; auto "
         "goes by what stands in it, then by its name (default auto)")
      ->check(one_of("--format", {readers::kInputFormats.begin(), readers::kInputFormats.end()}))
      ->option_text("NAME");
  app.add_option("--text-field", source.reading.text_field,
                 "column or JSON field of the text; without it text, sentence, sequence, review or content")
      ->option_text("NAME");
  if (with_pairs) {
    app.add_flag("--pairs", source.reading.pairs, "each line has two texts with a tab between them");
    app.add_option("--pair-field", source.reading.pair_field, "with --pairs: column or JSON field of the second text")
        ->option_text("NAME");
  }
}

DocumentReader::DocumentReader(const TextSource& source, bool keep_fields) : source_(source) {
  check_one_source(source);
  if (are_texts(source.texts)) {
    return;
  }
  const bool standard_input = source.file.empty() || source.file == "-";
  if (standard_input) {
    refuse_terminal();
  }
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

std::vector<tasks::Document> DocumentReader::next(std::size_t count, std::vector<UnreadRecord>* unread) {
  std::vector<tasks::Document> documents;
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
                         std::move(text.names_of_texts)});
  }
  require(
      number_ > 0, "no text was given: ",
      [&] { return source_.file.empty() || source_.file == "-" ? "standard input" : quote(source_.file, 4096); },
      " is empty");
  return documents;
}

std::vector<tasks::Document> whole_files(const std::vector<std::string>& paths) {
  std::vector<tasks::Document> documents;
  for (const std::string& path : paths) {
    if (path == "-") {
      refuse_terminal();
    }
    readers::ByteSource source = readers::ByteSource::stream(path);
    tasks::Document document;
    document.name = source.name();
    document.first = readers::read_whole_text(std::move(source));
    documents.push_back(std::move(document));
  }
  return documents;
}

std::vector<tasks::Document> whole_documents(const std::vector<std::string>& arguments,
                                             const std::vector<std::string>& paths) {
  if (!are_texts(arguments)) {
    return whole_files(paths.empty() ? std::vector<std::string>{"-"} : paths);
  }
  std::vector<tasks::Document> documents;
  documents.reserve(arguments.size());
  for (const std::string& text : arguments) {
    documents.push_back({text, {}, concat("text ", documents.size() + 1)});
  }
  return documents;
}

}  // namespace weft::cli
