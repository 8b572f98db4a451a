// SPDX-License-Identifier: Apache-2.0
// `weft pattern cost`: what a pattern costs in a model of a given shape, beside full attention; seconds where this
// machine was calibrated.
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/cli/front/bench/calibration_file.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/pattern/pattern_site.h"
#include "weft/cli/front/tensor_part.h"
#include "weft/cli/front/threads.h"
#include "weft/core/error.h"
#include "weft/core/work/watched_progress.h"
#include "weft/inspect/cost/model_cost.h"
#include "weft/page/figures_json.h"

namespace weft::cli {
namespace {

constexpr std::string_view kCostExamples =
    "  weft bench calibrate   (once on each machine; from then on costs include seconds)\n"
    "  weft pattern cost bigbird --length 4096\n"
    "  weft pattern cost 'causal & window(512)' --length 8192 --layers 24 --width 1024 --heads 16 --dtype bfloat16 "
    "--json";

struct CostConfig {
  std::int64_t length = 0;
  std::string input;
  std::string rates;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = CostConfig;
    visit(Field{"length", &C::length, "tokens of a sequence"}.range(1, kLongestSite));
    visit(input_field<C>());
    visit(Field{"rates", &C::rates,
                "a file that `weft bench calibrate --out FILE` wrote; by default the one it writes without --out"});
  }
};

struct CostOptions {
  std::string expression;
  formats::Json given = formats::Json::object();
  std::int64_t threads = 0;
  std::string device = "cpu";
  bool json = false;
};

struct Costs {
  inspect::ModelCost sparse;
  inspect::ModelCost dense;
  bool timed = false;
  bool sparse_is_sampled = false;  ///< operations and bytes are estimates
  inspect::Crossover crossover;
};

std::string row(const inspect::Work& sparse, const inspect::Work& dense) {
  const auto words = [](const inspect::Work& work) {
    return concat(with_unit(work.flops, "FLOP"), ", ", with_unit(work.bytes, "B"),
                  work.seconds ? ", " + duration(*work.seconds) : "");
  };
  return concat(words(sparse), "  (full attention: ", words(dense), ")");
}

std::string memory(double sparse, double dense) {
  return concat(with_unit(sparse, "B"), "  (full attention: ", with_unit(dense, "B"), ")");
}

std::string overtakes(const std::optional<std::int64_t>& length, std::int64_t longest) {
  return length ? concat("faster than full attention from ", digits(*length), " tokens on")
                : concat("at no length up to ", digits(longest), " tokens faster than full attention");
}

std::string cost_text(const Costs& costs) {
  const inspect::ModelCost& sparse = costs.sparse;
  const inspect::ModelCost& dense = costs.dense;
  Rows rows = {{"work", costs.sparse_is_sampled ? "estimated from a sample of rows" : "counted"},
               {"attention, forward", row(sparse.inference.attention, dense.inference.attention)},
               {"attention, training", row(sparse.training.attention, dense.training.attention)},
               {"model, forward", row(sparse.inference.total, dense.inference.total)},
               {"model, training", row(sparse.training.total, dense.training.total)},
               {"computed", percent(sparse.computed_share) + " of the scores of full attention"},
               {"memory, inference", memory(sparse.inference_bytes, dense.inference_bytes)},
               {"memory, training", memory(sparse.training_bytes, dense.training_bytes)}};
  if (costs.timed) {
    rows.emplace_back("forward", overtakes(costs.crossover.inference, costs.crossover.longest));
    rows.emplace_back("training", overtakes(costs.crossover.training, costs.crossover.longest));
  } else {
    rows.emplace_back("seconds",
                      costs.sparse_is_sampled
                          ? "not predicted: the layout is too large to be walked over"
                          : "not known: type `weft bench calibrate`, which measures this machine in a minute");
  }
  return name_table(rows);
}

inspect::ModelShape shape_of(const CostOptions& options, const CostConfig& config) {
  inspect::ModelShape shape;
  formats::update_from_json(shape, only_fields_of<inspect::ModelShape>(options.given), "weft pattern cost");
  shape.input = number_list("--input", config.input, ',');
  std::sort(shape.input.begin(), shape.input.end());
  if (shape.width % shape.heads != 0) {
    throw UsageError(concat("--width ", shape.width, " is not a multiple of --heads ", shape.heads),
                     concat("for example: --width ", shape.heads * 64, " --heads ", shape.heads));
  }
  return shape;
}

void show_cost(const CostOptions& options) {
  if (!options.given.contains("length")) {
    throw UsageError("weft pattern cost needs --length N", "for example: weft pattern cost bigbird --length 4096");
  }
  CostConfig config;
  formats::update_from_json(config, only_fields_of<CostConfig>(options.given), "weft pattern cost");
  const std::int64_t threads = asked_threads(options.threads);
  if (options.device != "cpu") {
    tensor_part().describe_device(options.device);  // refuses what is no device of this machine, calibrated or not
  }
  const pattern::Pattern pattern = pattern::Pattern::parse(options.expression);
  const inspect::ModelShape shape = shape_of(options, config);
  require_input({&pattern, 1}, shape.input);
  std::optional<BusyBar> bar("counting operations");
  const std::optional<inspect::LayerEstimates> sampled = estimated_works(pattern, shape, config.length);
  // Seconds follow the order of the blocks, which a sample does not know.
  const std::optional<inspect::MachineRates> measured =
      sampled && config.rates.empty() ? std::nullopt : find_rates(config.rates, threads, options.device);
  const std::optional<inspect::MachineRates> rates = sampled ? std::nullopt : measured;
  const std::vector<inspect::LayoutWork> works = sampled ? *sampled : layer_works(pattern, shape, config.length);
  Costs costs{sparse_cost(shape, config.length, works, rates), dense_cost(shape, config.length, rates),
              rates.has_value(), sampled.has_value(),
              rates ? crossover_length(pattern, shape, *rates) : inspect::Crossover{}};
  bar.reset();
  if (!options.json) {
    std::cout << pattern.to_string() << '\n' << cost_text(costs);
    return;
  }
  print_json({{"expression", pattern.to_string()},
              {"length", config.length},
              {"estimated", costs.sparse_is_sampled},
              {"shape", formats::to_json(shape)},
              {"sparse", page::cost_json(costs.sparse)},
              {"dense", page::cost_json(costs.dense)},
              {"crossover_length", formats::or_null(costs.crossover.inference)},
              {"training_crossover_length", formats::or_null(costs.crossover.training)}});
}

}  // namespace

void add_pattern_cost(CLI::App& parent) {
  auto options = std::make_shared<CostOptions>();
  CLI::App& app = add_command(
      parent, "cost", "count the operations, bytes and memory of a model with this pattern, and predict its time",
      std::string(kCostExamples));
  app.add_option("EXPRESSION", options->expression, "a pattern, as docs/pattern-language.md explains")->required();
  add_fields<CostConfig>(app, {.title = "Options"}, options->given);
  add_fields<inspect::ModelShape>(app, {.title = "Model"}, options->given);
  add_threads_flag(app, options->threads);
  app.add_option("--device", options->device,
                 "device whose seconds are predicted, if it was calibrated: cpu, cuda or cuda:N (default cpu)")
      ->option_text("DEVICE");
  add_json_flag(app, options->json);
  app.callback([options] { show_cost(*options); });
}

}  // namespace weft::cli
