// SPDX-License-Identifier: Apache-2.0
// What a file holds that is no base is counted on the way: gaps, which are left out, and other letters, which stay.
#include "weft/cli/front/data/genome.h"

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/cli/front/data/found.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/core/files.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/core/work/watched_progress.h"
#include "weft/readers/fasta_reader.h"
#include "weft/readers/file_list.h"
#include "weft/readers/genome_documents.h"

namespace weft::cli {
namespace {

using readers::ReadOptions;
using readers::ReadReport;

struct GenomeConfig {
  std::string out;
  std::int64_t copies = 10;
  std::int64_t seed = 0;
  std::string on_error = "fail";

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = GenomeConfig;
    visit(Field{"out", &C::out, "text file to write, with one sentence a line and an empty line after each document"});
    visit(
        Field{"copies", &C::copies, "how often each sequence is cut, each time at different places"}.range(1, 1 << 20));
    visit(Field{"seed", &C::seed, "random seed of the places"}.at_least(0));
    visit(Field{"on_error", &C::on_error, "what to do with a malformed record; skip counts it and goes on"}.one_of(
        {"fail", "skip"}));
  }
};

struct GenomeCommand {
  std::vector<std::string> paths;
  formats::Json given = formats::Json::object();
  bool json = false;
};

// Letters that are no base of DNA and not N: proteins, RNA, codes of several bases.
struct OtherLetters {
  std::int64_t count = 0;
  std::int64_t all = 0;
  char first = 0;

  void look_at(std::string_view sequence) {
    constexpr std::string_view kBases = "ACGTNacgtn";
    all += std::ssize(sequence);
    for (const char letter : sequence) {
      if (kBases.find(letter) == std::string_view::npos) {
        first = count++ == 0 ? letter : first;
      }
    }
  }
};

void write_genome_documents(const GenomeCommand& command) {
  GenomeConfig config;
  formats::update_from_json(config, command.given, "weft data genome");
  if (config.out.empty()) {
    throw UsageError("weft data genome needs --out FILE");
  }
  const std::vector<std::filesystem::path> files = readers::list_files(command.paths);
  AtomicFile out(config.out);
  readers::GenomeDocumentOptions cut;
  cut.copies = config.copies;
  cut.seed = static_cast<std::uint64_t>(config.seed);
  std::optional<BusyBar> bar("cutting sequences");
  std::int64_t documents = 0;
  std::int64_t sequences = 0;
  std::int64_t gaps = 0;
  OtherLetters others;
  const ReadReport report = readers::for_each_record(
      files,
      [&](const std::filesystem::path& file) {
        return std::make_unique<readers::FastaReader>(file, ReadOptions{.skip_malformed = config.on_error == "skip"});
      },
      [&](const readers::FastaRecord& record) {
        others.look_at(record.sequence);
        gaps += readers::cut_genome(record.sequence, sequences++, cut, [&](const std::string& document) {
          out.write(document + "\n");
          ++documents;
        });
      });
  require_found(report.records + report.skipped, command.paths, "sequence");
  if (report.records > 0) {
    require_found(documents, command.paths, "base: all letters are gaps (N)");
  }
  out.commit();
  bar.reset();
  if (others.count > 0) {
    log_warning(digits(others.count), " of ", digits(others.all),
                " letters are none of A, C, G, T and N (the first: ", quote(std::string(1, others.first)),
                "); they stay as they are");
  }
  if (command.json) {
    print_json({{"documents", documents}, {"sequences", report.records}, {"skipped", report.skipped}, {"gaps", gaps}});
  } else {
    std::cout << name_table({{"documents", digits(documents)},
                             {"sequences", digits(report.records)},
                             {"skipped", digits(report.skipped)},
                             {"letters of gaps left out", digits(gaps)}});
  }
}

}  // namespace

void add_data_genome(CLI::App& data) {
  auto command = std::make_shared<GenomeCommand>();
  CLI::App& app = add_command(data, "genome", "cut sequences into documents for masked language modelling",
                              std::string(kGenomeExamples));
  app.add_option("PATHS", command->paths, "FASTA files and folders, plain or gzip")->required();
  add_fields<GenomeConfig>(app, {.title = "Options"}, command->given);
  add_json_flag(app, command->json);
  app.callback([command] { write_genome_documents(*command); });
}

}  // namespace weft::cli
