// SPDX-License-Identifier: Apache-2.0
// `weft prune`: from a profile of attention to a pattern for each layer that keeps what carries most of it.
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "weft/cli/front/bench/calibration_file.h"
#include "weft/cli/front/commands/table.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/threads.h"
#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/core/work/watched_progress.h"
#include "weft/formats/field_conditions.h"
#include "weft/profile/prune/prune_file.h"

namespace weft::cli {
namespace {

using formats::Json;

constexpr std::string_view kPruneExamples =
    "  weft prune profile.safetensors --density 0.1 -o prune.json\n"
    "  weft prune profile.safetensors --mass 0.95 --unit block --scope layer -o prune.json\n"
    "  weft prune profile.safetensors --density 0.1 --control random -o random.json\n"
    "  weft train --train-text books/train --config run/config.json --attention @prune.json --out pruned";

struct PruneFiles {
  std::string model;
  std::string rates;
  bool graph = true;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = PruneFiles;
    visit(Field{"model", &C::model,
                "directory that graphs of the model's own patterns lie below; by default the one that was profiled"});
    visit(Field{"rates", &C::rates,
                "a file that `weft bench calibrate --out FILE` wrote; by default the one it writes without --out"});
    visit(Field{"graph", &C::graph, "measure paths and spectral gap of each layer with up to 4,096 positions"});
  }
};

struct PruneOptions {
  std::string profile;
  std::string out;
  Json given = Json::object();
  std::int64_t threads = 0;
  bool json = false;
};

std::string prune_text(const Json& result) {
  const auto share = [&](const char* name) { return percent(result.at(name).get<double>()); };
  const auto number = [&](const char* name) { return digits(result.at(name).get<std::int64_t>()); };
  Rows rows = {
      {"kept", concat(number("kept_units"), " of ", number("units"), " units, ", share("density"))},
      {"edges", concat(number("kept_edges"), " of ", number("edges"), ", ", share("edge_density"))},
      {"mass", share("kept_mass")},
      {"predicted time", concat(share("cost_share"), " of before (", result.at("cost_unit").get<std::string>(), ")")}};
  if (result.at("emptied_rows").get<std::int64_t>() > 0) {
    rows.emplace_back("rows without an edge", number("emptied_rows"));
  }
  for (const Json& part : result.at("parts")) {
    std::string text =
        concat(percent(part.at("density").get<double>()), " of units, ", percent(part.at("kept_mass").get<double>()),
               " of mass, ", percent(part.at("cost_share").get<double>()), " of time");
    if (const Json& graph = part.at("graph"); graph.is_object()) {
      text += concat(", paths of ", fixed(graph.at("average_path").get<double>(), 2), " on average");
    }
    rows.emplace_back(part.at("name").get<std::string>(), text);
  }
  return name_table(rows);
}

// What --released keeps beside what Weft itself would keep of the same profile; nothing where Weft would refuse.
Json released_difference(const profile::AttentionProfile& profile, profile::PruneSettings own,
                         const std::vector<profile::PruneResult>& released, const std::filesystem::path& directory) {
  own.released = false;
  try {
    const auto found = kept_difference(released, prune(profile, own, profile::LayoutCost(), directory));
    return {{"only_released", found.only_first}, {"only_weft", found.only_second}};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kArgument) {  // the budget is below the diagonal
      throw;
    }
    return nullptr;
  }
}

void warn_of_released(const Json& result, const profile::PruneSettings& settings) {
  if (!settings.released) {
    return;
  }
  const Json& differs = result.at("unlike_weft");
  const auto count = [&](const char* name) { return digits(differs.at(name).get<std::int64_t>()); };
  log_warning("--released: of the edges that the patterns have, ", percent(1 - result.at("density").get<double>()),
              " are pruned and not ", percent(1 - settings.density),
              ", because entries that are no edge were counted; ",
              digits(result.at("emptied_rows").get<std::int64_t>()),
              " rows have no edge left and give zeros, where the released code lets them see everything; ",
              differs.is_null() ? "Weft itself would refuse this density"
                                : concat(count("only_released"), " edges are kept that Weft would prune, and ",
                                         count("only_weft"), " pruned that it would keep"));
}

void run_prune(const PruneOptions& options) {
  PruneFiles files;
  formats::update_from_json(files, only_fields_of<PruneFiles>(options.given), "weft prune");
  profile::PruneSettings settings;
  formats::update_from_json(settings, only_fields_of<profile::PruneSettings>(options.given), "weft prune");
  check_settings(settings, "weft prune");
  formats::check_given_conditions<profile::PruneSettings>(options.given, formats::to_json(settings), "weft prune");
  const profile::LayoutCost cost(find_rates(files.rates, asked_threads(options.threads)));
  std::optional<BusyBar> bar("pruning");
  const profile::AttentionProfile profile = profile::read_profile(options.profile);
  const std::filesystem::path model = files.model.empty() ? profile.model.path : files.model;
  const std::filesystem::path directory = std::filesystem::is_directory(model) ? model : "";
  const profile::PruneOrigin origin{profile, options.profile, model, settings, files.graph, cost.is_seconds()};
  check_prune_path(options.out, origin);
  const auto results = prune(profile, settings, cost, directory);
  const Json differs = settings.released ? released_difference(profile, settings, results, directory) : Json();
  if (settings.released) {
    settings.rank = "mean";  // as the code does, whatever was given
  }
  Json result = write_prune(options.out, origin, results);
  if (settings.released) {
    result["unlike_weft"] = differs;
  }
  bar.reset();
  warn_of_released(result, settings);
  if (options.json) {
    print_json(result);
  } else {
    std::cout << prune_text(result);
  }
}

}  // namespace

void add_prune(CLI::App& parent) {
  auto options = std::make_shared<PruneOptions>();
  CLI::App& app = add_command(parent, "prune", std::string(kPruneExamples));
  app.add_option("PROFILE", options->profile, "a file of `weft profile`")->required();
  app.add_option("-o,--out", options->out, "JSON file to write; graphs go into a folder of its name without .json")
      ->required()
      ->option_text("FILE");
  add_fields<profile::PruneSettings>(app, {.title = "Options"}, options->given);
  add_fields<PruneFiles>(app, {.title = "Files"}, options->given);
  add_threads_flag(app, options->threads);
  add_json_flag(app, options->json);
  app.callback([options] { run_prune(*options); });
}

}  // namespace weft::cli
