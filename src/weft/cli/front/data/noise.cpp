// SPDX-License-Identifier: Apache-2.0
// Line N of the output is line N of the file, with noise that its number and the seed decide.
#include "weft/cli/front/data/noise.h"

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "weft/cli/front/data/found.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/core/random.h"
#include "weft/readers/byte_source.h"
#include "weft/readers/input/file_kind.h"
#include "weft/readers/text_source.h"
#include "weft/text/noise/word_noise.h"

namespace weft::cli {
namespace {

constexpr const char* kNoiseExamples =
    "  weft translate en-de --file alone.en > alone.de\n"
    "  weft data noise alone.de --out noisy.de\n"
    "  weft train --task translate --train-source train.de noisy.de --train-target train.en alone.en --out run";

struct NoiseConfig {
  std::string out;
  double drop = 0.1;
  double blank = 0.1;
  std::int64_t shuffle = 3;
  std::string filler = "_";
  std::int64_t seed = 0;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = NoiseConfig;
    visit(Field{"out", &C::out, "file to write, a line for each line"});
    visit(Field{"drop", &C::drop, "probability that a word is left out"}.range(0.0, 1.0));
    visit(Field{"blank", &C::blank, "probability that a word is replaced by the filler"}.range(0.0, 1.0));
    visit(Field{"shuffle", &C::shuffle, "places over which a word moves at most; 0 for none"}.range(0, 1 << 20));
    visit(Field{"filler", &C::filler, "word in place of others; one that the texts do not have"});
    visit(Field{"seed", &C::seed, "random seed; the same seed gives the same lines"}.at_least(0));
  }
};

struct NoiseCommand {
  std::string file;
  formats::Json given = formats::Json::object();
  bool json = false;
};

// Words of records would be dropped and moved with the marks between their fields, so that nothing could read them.
void refuse_records(readers::ByteSource& bytes) {
  const readers::FileKind kind = readers::decide_kind(bytes);
  if (kind.sure && kind.format != "text") {
    const std::string why = kind.by_content() ? concat(kind.format, " (", kind.reason, ")") : readers::kind_text(kind);
    throw Error(ErrorKind::kFormat, concat(bytes.name(), ": is ", why, ", expected plain text, a text a line"),
                "write the texts alone to a file first, a text a line");
  }
}

void write_noise(const NoiseCommand& command) {
  NoiseConfig config;
  formats::update_from_json(config, command.given, "weft data noise");
  if (config.out.empty()) {
    throw UsageError("weft data noise needs --out FILE");
  }
  if (config.filler.empty() || config.filler.find_first_of(" \t\r\n\v\f") != std::string::npos) {
    throw UsageError("--filler is one word without blanks");
  }
  const text::WordNoise noise{.drop = config.drop,
                              .blank = config.blank,
                              .shuffle = static_cast<std::size_t>(config.shuffle),
                              .filler = config.filler};
  readers::ByteSource bytes = readers::ByteSource::stream(command.file);
  const std::string name = bytes.name();
  refuse_records(bytes);
  readers::TextSource lines(std::move(bytes), readers::ReadOptions());
  AtomicFile out(config.out);
  std::string line;
  std::int64_t count = 0;
  std::int64_t with_filler = 0;
  for (; lines.next_line(line); ++count) {
    lines.begin_record();
    readers::check_utf8(line, lines.where());
    with_filler += text::has_word(line, config.filler) ? 1 : 0;
    text::NoiseDraws draws(random_bits(static_cast<std::uint64_t>(config.seed), static_cast<std::uint64_t>(count)));
    out.write(text::noised_words(line, noise, draws) + "\n");
  }
  require_found(count, {command.file}, "text");
  out.commit();
  if (with_filler > 0) {
    log_warning(name, ": the word ", quote(config.filler),
                " stands in lines of the file already, so that nobody can tell it from the filler: ", with_filler,
                " of ", count, "; --filler names another");
  }
  if (command.json) {
    print_json({{"lines", count}});
  } else {
    std::cout << name_table({{"lines", digits(count)}});
  }
}

}  // namespace

void add_data_noise(CLI::App& data) {
  auto command = std::make_shared<NoiseCommand>();
  CLI::App& app = add_command(data, "noise", "words dropped, filled in and shuffled, for texts that a model made",
                              std::string(kNoiseExamples));
  app.add_option("FILE", command->file,
                 "plain text, also in gzip, a text a line; no JSON and no table; - is standard input")
      ->required();
  add_fields<NoiseConfig>(app, {.title = "Options"}, command->given);
  add_json_flag(app, command->json);
  app.callback([command] { write_noise(*command); });
}

}  // namespace weft::cli
