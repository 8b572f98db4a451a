// SPDX-License-Identifier: Apache-2.0
// `weft report`: a run as one HTML page that can be mailed.
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/cli/training/command_to_repeat.h"
#include "weft/core/files.h"
#include "weft/report/page.h"

namespace weft::cli {
namespace {

constexpr std::string_view kReportExamples =
    "  weft report run\n"
    "  weft report run --out figures/run.html";

struct ReportOptions {
  std::string run;
  std::string out;
  bool json = false;
};

void write_report(const ReportOptions& options) {
  const report::RunFigures run = report::read_run(options.run);
  const std::filesystem::path file =
      options.out.empty() ? std::filesystem::path(options.run) / "report.html" : std::filesystem::path(options.out);
  const std::string command = command_to_repeat(run);
  write_file_atomically(file, report::report_page(run, command));
  if (options.json) {
    formats::Json json = report::summary_json(run);
    json["report"] = file.string();
    json["command"] = command;
    print_json(json);
  } else {
    std::cout << file.string() << '\n';
  }
}

}  // namespace

void add_report(CLI::App& parent) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App& app = add_command(parent, "report", std::string(kReportExamples));
  app.add_option("RUN", options->run, "run directory; the run may still be training")->required();
  app.add_option("--out", options->out, "file to write (default RUN/report.html)")->option_text("FILE");
  add_json_flag(app, options->json);
  app.callback([options] { write_report(*options); });
}

}  // namespace weft::cli
