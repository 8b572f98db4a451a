// SPDX-License-Identifier: Apache-2.0
// The flags of each of the three ways.
#include "weft/cli/tasks/pair_input.h"

#include "weft/cli/front/field_flags.h"
#include "weft/cli/tasks/text_input.h"

namespace weft::cli {
void add_pair_arguments(CLI::App& app, PairSource& flags) {
  flags.reading.pairs = true;
  flags.reading.text_field = "source";
  flags.reading.pair_field = "target";
  app.add_option("TEXTS", flags.texts, "a text and its translation")->option_text("[SOURCE TARGET]");
  app.add_option("--source", flags.source, "file of texts, one a line, plain or gzip; - is standard input")
      ->option_text("FILE");
  app.add_option("--target", flags.target, "their translations: line N belongs to line N of --source")
      ->option_text("FILE");
  app.add_option("--file", flags.file, "instead of the two: one file of records, or of lines with a tab between both")
      ->option_text("FILE");
  app.add_option("--format", flags.reading.format,
                 "format of --file; auto goes by what stands in it, then by its name (default auto)")
      ->check(one_of("--format", {"auto", "lines", "jsonl", "json", "csv", "tsv"}))
      ->option_text("NAME");
  app.add_option("--source-field", flags.reading.text_field,
                 "column or JSON field of the text in --file (default source)")
      ->option_text("NAME");
  app.add_option("--target-field", flags.reading.pair_field, "column or JSON field of its translation (default target)")
      ->option_text("NAME");
  add_header_flag(app, flags.reading);
}

}  // namespace weft::cli
