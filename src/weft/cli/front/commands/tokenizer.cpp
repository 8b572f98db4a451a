// SPDX-License-Identifier: Apache-2.0
// `weft tokenizer train`: a vocabulary of one's own, from text or from genomes.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/cli/front/commands/table.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/core/interrupt.h"
#include "weft/core/log.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/core/text/number_text.h"
#include "weft/core/work/watched_progress.h"
#include "weft/readers/record_text.h"
#include "weft/text/hugging_face.h"
#include "weft/text/train_tokenizer.h"

namespace weft::cli {
namespace {

using formats::Json;

constexpr std::string_view kTokenizerExamples =
    "  weft tokenizer train books/train --vocabulary-size 16384 --out tokenizer\n"
    "  weft tokenizer train reviews.csv --text-field body --out tokenizer\n"
    "  weft tokenizer train genome.fa.gz --dna --vocabulary-size 4096 --out dna\n"
    "  weft train --tokenizer tokenizer --train-text books/train --minutes 5 --out run";

// Of the text that was read, so much is encoded again to say how long a token is.
constexpr std::size_t kSampleBytes = std::size_t{1} << 20;

// Genomes have other letters where several bases are possible, and proteins have only a fifth of these.
constexpr double kBasesOfGenome = 0.7;

struct TokenizerConfig {
  std::string kind = "bpe";
  std::int64_t vocabulary_size = 8192;
  std::int64_t min_frequency = 2;
  std::int64_t longest_token = 16;
  bool dna = false;
  std::string format = "auto";
  std::string text_field;
  std::int64_t max_bytes = 0;
  std::string on_error = "fail";

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = TokenizerConfig;
    visit(Field{"kind", &C::kind, "byte-pair encoding (bpe) or a unigram model, both over bytes"}.one_of(
        {"bpe", "unigram"}));
    visit(Field{"vocabulary_size", &C::vocabulary_size,
                "tokens to learn, including five special tokens and the 256 bytes"}
              .range(261, 1 << 24));
    visit(Field{"min_frequency", &C::min_frequency, "bpe: a pair that occurs less often is not merged"}.at_least(1));
    visit(Field{"longest_token", &C::longest_token, "longest token, in bytes"}.range(1, 1 << 16));
    visit(Field{"dna", &C::dna,
                "for genomes: letters become upper case, a token may contain anything but a line end, and FASTA files "
                "are read as FASTA"});
    visit(Field{"format", &C::format,
                "format of the files; auto goes by what stands in each file, then by its name, and reads the texts of "
                "records"}
              .one_of({readers::kInputFormats.begin(), readers::kInputFormats.end()}));
    visit(Field{"text_field", &C::text_field,
                "column or JSON field of the text; without it text, sentence, sequence, review or content"});
    visit(Field{"max_bytes", &C::max_bytes, "learn from this many bytes at the start of the text; 0 for all"}.at_least(
        0));
    visit(Field{"on_error", &C::on_error,
                "what to do with a malformed record, or a file that holds no text; skip counts it and goes on"}
              .one_of({"fail", "skip"}));
  }
};

struct TokenizerOptions {
  std::vector<std::string> paths;
  std::string out;
  Json given = Json::object();
  bool json = false;
};

// The records one after another, counted, with a sample of them kept.
struct TrainingText {
  std::int64_t bytes = 0;
  std::string sample;
  bool empty = true;

  bool take(const std::string& text, std::int64_t limit) {
    if (interrupted()) {
      fail(ErrorKind::kInterrupted, "stopped after ", bytes, " bytes; nothing was written");
    }
    if (limit > 0 && bytes >= limit) {
      return false;
    }
    empty = false;
    bytes += static_cast<std::int64_t>(text.size());
    if (sample.size() < kSampleBytes) {
      sample += text;
    }
    return true;
  }
};

Json trained_json(const TokenizerOptions& options, const TrainingText& text, const readers::ReadReport& report) {
  const std::unique_ptr<text::Tokenizer> tokenizer = text::load_tokenizer(options.out);
  const auto tokens = static_cast<std::int64_t>(tokenizer->encode(text.sample).size());
  return {{"tokenizer", options.out},
          {"vocabulary_size", tokenizer->vocabulary_size()},
          {"records", report.records},
          {"skipped", report.skipped},
          {"bytes", text.bytes},
          {"bytes_per_token",
           static_cast<double>(text.sample.size()) / static_cast<double>(std::max<std::int64_t>(tokens, 1))}};
}

// A size that was asked for and that the text does not have, and a genome that looks like none.
void warn_of_text(const TokenizerOptions& options, const TokenizerConfig& config, const TrainingText& seen,
                  std::int64_t learned) {
  if (options.given.contains("vocabulary_size") && learned < config.vocabulary_size) {
    log_warning("the text has no more than ", digits(learned), " tokens to learn, fewer than --vocabulary-size ",
                digits(config.vocabulary_size));
  }
  const auto bases = std::count_if(seen.sample.begin(), seen.sample.end(), [](char letter) {
    return std::string_view("ACGTUNacgtun").find(letter) != std::string_view::npos;
  });
  const double share = static_cast<double>(bases) / static_cast<double>(std::max<std::size_t>(1, seen.sample.size()));
  if (config.dna && share < kBasesOfGenome) {
    log_warning("--dna: ", percent(share), " of the text are letters of bases, so that it is perhaps no genome");
  }
}

void train_tokenizer(const TokenizerOptions& options) {
  TokenizerConfig config;
  formats::update_from_json(config, options.given, "weft tokenizer train");
  if (std::filesystem::exists(options.out)) {
    throw UsageError(quote(options.out, 4096) + " exists: a tokeniser is written to a new folder");
  }
  // While reading. Learning has nothing that a signal could spoil.
  std::optional<InterruptGuard> guard(std::in_place);
  readers::RecordText records(options.paths, {.dna = config.dna,
                                              .reading = {.skip_malformed = config.on_error == "skip"},
                                              .format = config.format,
                                              .text_field = config.text_field});
  ProgressBar bar("reading", static_cast<double>(records.total_bytes()));
  TrainingText seen;
  std::optional<BusyBar> learning;
  const auto next = [&](std::string& text) {
    bar.update(static_cast<double>(seen.bytes));
    const bool more = records.next(text) && seen.take(text, config.max_bytes);
    if (!more) {
      bar.finish();
      guard.reset();
      require(
          !seen.empty, [&] { return quoted_list(options.paths, 3); },
          ": no text that a vocabulary could be learned from");
      learning.emplace("learning a vocabulary");
    }
    return more;
  };
  const std::string json = text::train_tokenizer(
      {config.kind == "unigram", config.dna, config.vocabulary_size, config.min_frequency, config.longest_token}, next);
  learning.reset();
  text::write_trained_tokenizer(options.out, json);
  const Json result = trained_json(options, seen, records.report());
  warn_of_text(options, config, seen, result["vocabulary_size"].get<std::int64_t>());
  if (options.json) {
    print_json(result);
    return;
  }
  std::cout << name_table({{"tokeniser", options.out},
                           {"vocabulary", digits(result["vocabulary_size"].get<std::int64_t>()) + " tokens"},
                           {"text", concat(digits(seen.bytes), " bytes, ", counted(records.report().records, "record"),
                                           ", ", digits(records.report().skipped), " skipped")},
                           {"token", fixed(result["bytes_per_token"].get<double>(), 2) + " bytes on average"}});
}

}  // namespace

void add_tokenizer(CLI::App& parent) {
  CLI::App& group = add_command(parent, "tokenizer", std::string(kTokenizerExamples));
  group.require_subcommand(1);
  auto options = std::make_shared<TokenizerOptions>();
  CLI::App& app = add_command(group, "train", "learn a vocabulary from text", std::string(kTokenizerExamples));
  app.add_option("PATHS", options->paths, "text files and folders, plain or gzip")->required();
  app.add_option("--out", options->out, "folder to make, for --tokenizer of weft train and for Hugging Face's programs")
      ->required()
      ->option_text("FOLDER");
  add_fields<TokenizerConfig>(app, {.title = "Options"}, options->given);
  add_json_flag(app, options->json);
  app.callback([options] { train_tokenizer(*options); });
}

}  // namespace weft::cli
