// SPDX-License-Identifier: Apache-2.0
// `weft propose`: short patterns that hold what the heads of a profile look at, a readable line for each layer.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/bench/calibration_file.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/threads.h"
#include "weft/core/error.h"
#include "weft/core/work/watched_progress.h"
#include "weft/profile/propose/proposal_file.h"
#include "weft/runs/evaluate/held_out.h"

namespace weft::cli {
namespace {

using formats::Json;

constexpr std::string_view kProposeExamples =
    "  weft propose profile.safetensors --mass 0.95\n"
    "  weft propose profile.safetensors --mass 0.95 --length 8192 -o proposed.json\n"
    "  weft propose profile.safetensors --mass 0.95 --held-out held-out.txt\n"
    "  weft eval run --text held-out.txt --attention @proposed.json\n"
    "  weft propose profile.safetensors --rewire --gap 0.02 -o proposed.json";

struct ProposeFiles {
  std::string model;
  std::string rates;
  std::vector<std::string> held_out;
  std::int64_t max_bytes = 0;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ProposeFiles;
    visit(Field{"model", &C::model,
                "directory of the model, which graphs of its own patterns lie below; by default the one that was "
                "profiled"});
    visit(Field{"rates", &C::rates,
                "a file that `weft bench calibrate --out FILE` wrote; by default the one it writes without --out"});
    visit(Field{"held_out", &C::held_out,
                "text that the model did not learn, files and folders: print its loss with the model's own attention "
                "and with the proposed one, over --length tokens at once"});
    visit(Field{"max_bytes", &C::max_bytes, "bytes of --held-out to read; 0 for all"}.at_least(0));
  }
};

struct ProposeOptions {
  std::string profile;
  std::string out;
  Json given = Json::object();
  std::int64_t threads = 0;
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

// Of a profile of one stack. Texts are as long as those that the time is predicted for.
Json held_out_loss(const Json& result, const std::vector<profile::LayerProposal>& layers, const ProposeFiles& files,
                   const std::filesystem::path& model) {
  WatchedProgress progress("scoring", "tokens");
  runs::HeldOutComparison comparison;
  comparison.model = model;
  comparison.attention = result.value("attention", std::vector<std::string>{});
  comparison.text = files.held_out;
  comparison.context = layers.front().base->site().query_length;
  comparison.max_bytes = files.max_bytes;
  comparison.progress = progress.callback();
  return runs::compare_held_out(comparison);
}

void run_propose(const ProposeOptions& options) {
  ProposeFiles files;
  formats::update_from_json(files, only_fields_of<ProposeFiles>(options.given), "weft propose");
  profile::ProposeSettings settings;
  formats::update_from_json(settings, only_fields_of<profile::ProposeSettings>(options.given), "weft propose");
  require(settings.rewire || settings.gap == 0, "weft propose: --gap goes with --rewire");
  apply_threads(options.threads);
  const profile::LayoutCost cost(find_rates(files.rates, asked_threads(options.threads)));
  std::optional<BusyBar> bar("fitting patterns");
  const profile::AttentionProfile profile = profile::read_profile(options.profile);
  const std::filesystem::path model = files.model.empty() ? profile.model.path : files.model;
  const auto layers = propose(profile, settings, cost, std::filesystem::is_directory(model) ? model : "");
  Json result = profile::proposal_json(profile, layers, settings, cost.is_seconds());
  bar.reset();
  result["held_out"] = files.held_out.empty() ? Json(nullptr) : held_out_loss(result, layers, files, model);
  if (!options.out.empty()) {
    profile::write_proposal(options.out, result, profile, model);
  }
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
  add_fields<ProposeFiles>(app, {.title = "Files"}, options->given);
  add_threads_flag(app, options->threads);
  add_json_flag(app, options->json);
  app.callback([options] { run_propose(*options); });
}

}  // namespace weft::cli
