// SPDX-License-Identifier: Apache-2.0
// `weft info`: what a model or run directory holds. Weights are read only to be checked, and where several copies
// of an encoder-decoder's token table may be equal.
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "weft/checkpoint/open_model.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/commands/tensor_listing.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/model_argument.h"
#include "weft/cli/front/output.h"
#include "weft/formats/tensor_file.h"
#include "weft/report/card_rows.h"
#include "weft/report/run_summary.h"
#include "weft/tasks/card/card.h"

namespace weft::cli {
namespace {

using formats::Json;

struct InfoOptions {
  std::string directory;
  bool tensors = false;
  bool check_tensors = false;
  bool json = false;
};

// What the flags ask about tensors, into what a program reads.
void add_tensors(Json& json, const InfoOptions& options, const formats::TensorFile& weights) {
  if (options.tensors) {
    json["tensors"] = tensors_json(weights);
  }
  if (options.check_tensors) {
    json["not_finite"] = not_finite_json(weights);
  }
}

// The same for people.
std::string tensors_said(const InfoOptions& options, const formats::TensorFile& weights) {
  return (options.tensors ? tensors_text(weights) : "") +
         (options.check_tensors ? not_finite_text(not_finite_json(weights)) : "");
}

void print_info(const InfoOptions& options) {
  const checkpoint::OpenedModel directory = checkpoint::open_model(options.directory);
  tasks::Card card = tasks::card_of(directory);
  const std::unique_ptr<formats::TensorFile> weights = formats::open_tensor_directory(directory.path());
  const std::optional<Json> run = report::run_json(options.directory);
  if (options.json) {
    if (run) {
      card.json["training"] = *run;
    }
    add_tensors(card.json, options, *weights);
    print_json(card.json);
    return;
  }
  Rows rows = report::card_rows(directory, card);
  if (run) {
    const Rows trained = report::run_rows(*run, options.directory);
    rows.insert(rows.end(), trained.begin(), trained.end());
  }
  std::cout << name_table(rows) << tensors_said(options, *weights);
}

}  // namespace

void add_info(CLI::App& parent) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App& app = add_command(
      parent, "info",
      "  weft info run\n  weft info run --tensors\n  weft info run --check-tensors\n  weft info run --json");
  add_model_argument(app, "DIR", options->directory, "run or model directory").required();
  app.add_flag("--tensors", options->tensors, "list every tensor with its dtype and shape");
  app.add_flag("--check-tensors", options->check_tensors, "read every weight and report what is NaN or infinite");
  add_json_flag(app, options->json);
  app.callback([options] { print_info(*options); });
}

}  // namespace weft::cli
