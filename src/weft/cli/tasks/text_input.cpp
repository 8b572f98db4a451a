// SPDX-License-Identifier: Apache-2.0
// Flags, and what is given by them.
#include "weft/cli/tasks/text_input.h"

#include "weft/cli/front/field_flags.h"
#include "weft/core/error.h"
#include "weft/readers/input/input_texts.h"

namespace weft::cli {
void add_header_flag(CLI::App& app, readers::InputTextOptions& reading) {
  app.add_flag("--header,!--no-header", reading.header,
               "the first row of a table names its columns; otherwise they are 1, 2, ... (default on)");
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
  add_header_flag(app, source.reading);
  if (with_pairs) {
    app.add_flag("--pairs", source.reading.pairs,
                 "each line has two texts with a tab between them, each record those of --text-field and --pair-field");
    app.add_option("--pair-field", source.reading.pair_field,
                   "column or JSON field of a second text, which each record then has, as with --pairs")
        ->option_text("NAME")
        ->each([&source](const std::string& /*name*/) { source.reading.pairs = true; });
  }
}

std::vector<tasks::Document> whole_files(const std::vector<std::string>& paths, const tasks::LookAtFile& look) {
  for (const std::string& path : paths) {
    if (path == "-") {
      tasks::refuse_terminal();
    }
  }
  return tasks::whole_files(paths, look);
}

std::vector<tasks::Document> whole_documents(const std::vector<std::string>& arguments,
                                             const std::vector<std::string>& paths, const tasks::LookAtFile& look) {
  if (!are_texts(arguments)) {
    return whole_files(paths.empty() ? std::vector<std::string>{"-"} : paths, look);
  }
  std::vector<tasks::Document> documents;
  documents.reserve(arguments.size());
  for (const std::string& text : arguments) {
    const auto place = static_cast<std::int64_t>(documents.size());
    documents.push_back({.first = text, .name = concat("text ", place + 1), .place = place});
  }
  return documents;
}

}  // namespace weft::cli
