// SPDX-License-Identifier: Apache-2.0
// One of three ways, and no flag of another.
#include "weft/cli/tasks/pair_input.h"

#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/core/error.h"

namespace weft::cli {
namespace {

// Exactly one of the three ways to give pairs.
void check_way(const PairSource& flags) {
  const int ways = (flags.source.empty() ? 0 : 1) + (flags.file.empty() ? 0 : 1) + (flags.texts.empty() ? 0 : 1);
  if (ways != 1) {
    throw UsageError(ways == 0 ? "no pair of texts was given" : "pairs of texts were given in several ways",
                     "give --source FILE --target FILE, or --file FILE with both, or SOURCE TARGET");
  }
  if (!flags.texts.empty() && flags.texts.size() != 2) {
    throw UsageError(concat("a pair is two texts, found ", flags.texts.size()));
  }
}

}  // namespace

void check_pairs(const PairSource& flags) {
  if (flags.source.empty() != flags.target.empty()) {
    throw UsageError(
        concat("--source and --target belong together, found only --", flags.source.empty() ? "target" : "source"));
  }
  check_way(flags);
  if (flags.source == "-" && flags.target == "-") {
    throw UsageError("only one of the files can be standard input");
  }
  const readers::InputTextOptions& reading = flags.reading;
  const bool is_usual = reading.format == "auto" && reading.text_field == "source" && reading.pair_field == "target";
  if (flags.file.empty() && !is_usual) {
    throw UsageError("--format, --source-field and --target-field are for the records of --file");
  }
}

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
}

}  // namespace weft::cli
