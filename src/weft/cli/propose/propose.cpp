// SPDX-License-Identifier: Apache-2.0
// `weft propose`: short patterns that hold what the heads of a profile look at, a readable line for each layer.
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/bench/calibration_file.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/threads.h"
#include "weft/profile/propose/propose.h"
#include "weft/runs/propose/propose.h"

namespace weft::cli {
namespace {

using formats::Json;

constexpr std::string_view kProposeExamples =
    "  weft propose profile.safetensors --mass 0.95\n"
    "  weft propose profile.safetensors --mass 0.95 --length 8192 -o proposed.json\n"
    "  weft propose profile.safetensors --mass 0.95 --held-out held-out.txt\n"
    "  weft eval run --text held-out.txt --attention @proposed.json\n"
    "  weft propose profile.safetensors --rewire --gap 0.02 -o proposed.json";

struct ProposeOptions {
  std::string profile;
  std::string out;
  Json given = Json::object();
  MachineFlags machine;
  bool json = false;
};

std::string proposal_text(const Json& result) {
  Rows rows;
  for (const Json& part : result.at("parts")) {
    double least = 1;
    for (const Json& head : part.at("heads")) {
      least = std::min(least, head.at("kept_mass").get<double>());
    }
    // Without sums of edges, what columns and windows have in common is estimated.
    const std::string kept = part.at("estimated").get<bool>()
                                 ? concat("about ", percent(least), " or more of each head, ")
                                 : concat("at least ", percent(least), " of each head, ");
    rows.emplace_back(part.at("name").get<std::string>(),
                      concat(part.at("expression").get<std::string>(), "   ", kept,
                             percent(part.at("cost_share").get<double>()), " of time"));
  }
  rows.emplace_back("predicted time", concat(percent(result.at("cost_share").get<double>()), " of before (",
                                             result.at("cost_unit").get<std::string>(), ")"));
  if (const Json& loss = result.at("held_out"); loss.is_object()) {
    const auto change = loss.at("change").get<double>();
    rows.emplace_back(
        "held-out loss",
        concat(fixed(loss.at("own").get<double>(), 4), " with the model's own attention, ",
               fixed(loss.at("proposed").get<double>(), 4), " with the proposed one (", change < 0 ? "" : "+",
               fixed(100 * change, 2), "%), ", digits(loss.at("context").get<std::int64_t>()), " tokens at once"));
  }
  return name_table(rows);
}

void run_propose(const ProposeOptions& options) {
  apply_machine(options.machine);
  runs::ProposeRequest request = {.asker = "weft propose"};
  request.profile = options.profile;
  request.out = options.out;
  request.given = options.given;
  request.cost = [&](const std::string& rates) {
    return profile::LayoutCost(find_rates(rates, asked_threads(options.machine.threads), options.machine.device));
  };
  const Json result = runs::propose(request);
  if (options.json) {
    print_json(result);
  } else {
    std::cout << proposal_text(result);
  }
}

}  // namespace

void add_propose(CLI::App& parent) {
  auto options = std::make_shared<ProposeOptions>();
  CLI::App& app = add_command(parent, "propose", std::string(kProposeExamples));
  app.add_option("PROFILE", options->profile, "a file of `weft profile`")->required();
  app.add_option("-o,--out", options->out, "JSON file to write, for --attention @FILE")->option_text("FILE");
  add_fields<profile::ProposeSettings>(app, {.title = "Options"}, options->given);
  add_fields<runs::ProposeConfig>(app, {.title = "Files"}, options->given);
  add_machine_flags(app, options->machine);
  add_json_flag(app, options->json);
  app.callback([options] { run_propose(*options); });
}

}  // namespace weft::cli
