// SPDX-License-Identifier: Apache-2.0
// `weft pattern cost`: what a pattern costs in a model of a given shape, beside full attention; seconds where the rates
// of the machine are known.
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/cli/commands/pattern_commands.h"
#include "weft/cli/commands/pattern_site.h"
#include "weft/cli/failure.h"
#include "weft/cli/field_flags.h"
#include "weft/cli/help.h"
#include "weft/cli/output.h"
#include "weft/core/error.h"
#include "weft/pattern/cost/model_cost.h"

namespace weft::cli {
namespace {

constexpr std::string_view kCostExamples =
    "  weft pattern cost bigbird --length 4096\n"
    "  weft pattern cost 'causal & window(512)' --length 8192 --training --layers 24 --width 1024 --heads 16\n"
    "  weft pattern cost bigbird --length 4096 --rates machine.json --json";

struct CostConfig {
  std::int64_t length = 0;
  std::string input;
  std::string rates;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = CostConfig;
    visit(Field{"length", &C::length, "tokens"}.range(1, std::int64_t{1} << 31));
    visit(Field{"input", &C::input, "positions that `input` stands for: 0,5,17"});
    visit(Field{"rates", &C::rates, "JSON file with the rates of this machine; without it no seconds"});
  }
};

struct CostOptions {
  std::string expression;
  formats::Json given = formats::Json::object();
  bool json = false;
};

struct Costs {
  pattern::ModelCost sparse;
  pattern::ModelCost dense;
  std::optional<std::int64_t> crossover;
};

formats::Json work_json(const pattern::Work& work) {
  formats::Json json = {{"flops", work.flops}, {"bytes", work.bytes}, {"seconds", nullptr}};
  if (work.seconds) {
    json["seconds"] = *work.seconds;
  }
  return json;
}

formats::Json cost_json(const pattern::ModelCost& cost) {
  return {{"products", work_json(cost.products)},  {"attention", work_json(cost.attention)},
          {"head", work_json(cost.head)},          {"total", work_json(cost.total)},
          {"parameters", cost.parameters},         {"inference_bytes", cost.inference_bytes},
          {"training_bytes", cost.training_bytes}, {"computed_share", cost.computed_share}};
}

std::string row(const pattern::Work& sparse, const pattern::Work& dense) {
  const auto words = [](const pattern::Work& work) {
    return concat(fixed(work.flops / 1e9, 1), " GFLOP, ", fixed(work.bytes / 1e9, 2), " GB",
                  work.seconds ? ", " + fixed(*work.seconds * 1e3, 1) + " ms" : "");
  };
  return concat(words(sparse), "  (full attention: ", words(dense), ")");
}

std::string memory(double sparse, double dense) {
  return concat(fixed(sparse / 1e9, 2), " GB  (full attention: ", fixed(dense / 1e9, 2), " GB)");
}

std::string cost_text(const Costs& costs, bool timed) {
  std::vector<std::pair<std::string, std::string>> rows = {
      {"attention", row(costs.sparse.attention, costs.dense.attention)},
      {"whole model", row(costs.sparse.total, costs.dense.total)},
      {"computed", percent(costs.sparse.computed_share) + " of the scores of full attention"},
      {"memory, inference", memory(costs.sparse.inference_bytes, costs.dense.inference_bytes)},
      {"memory, training", memory(costs.sparse.training_bytes, costs.dense.training_bytes)}};
  if (timed) {
    rows.emplace_back("overtakes", costs.crossover
                                       ? concat("full attention from ", digits(*costs.crossover), " tokens on")
                                       : "full attention at no length up to 131,072 tokens");
  }
  return name_table(rows);
}

pattern::ModelShape shape_of(const CostOptions& options, const CostConfig& config) {
  pattern::ModelShape shape;
  formats::update_from_json(shape, only_fields_of<pattern::ModelShape>(options.given), "weft pattern cost");
  shape.input = number_list("--input", config.input, ',');
  std::sort(shape.input.begin(), shape.input.end());
  return shape;
}

void show_cost(const CostOptions& options) {
  if (!options.given.contains("length")) {
    throw UsageError("weft pattern cost needs --length N", "for example: weft pattern cost bigbird --length 4096");
  }
  CostConfig config;
  formats::update_from_json(config, only_fields_of<CostConfig>(options.given), "weft pattern cost");
  const pattern::ModelShape shape = shape_of(options, config);
  std::optional<pattern::MachineRates> rates;
  if (!config.rates.empty()) {
    rates.emplace();
    formats::update_from_json(*rates, formats::read_json(config.rates), config.rates);
  }
  const pattern::Pattern pattern = pattern::Pattern::parse(options.expression);
  Costs costs{sparse_cost(shape, config.length, layer_works(pattern, shape, config.length), rates),
              dense_cost(shape, config.length, rates),
              {}};
  if (rates) {
    costs.crossover = crossover_length(pattern, shape, *rates);
  }
  if (!options.json) {
    std::cout << pattern.to_string() << '\n' << cost_text(costs, rates.has_value());
    return;
  }
  formats::Json json = {{"expression", pattern.to_string()},
                        {"length", config.length},
                        {"sparse", cost_json(costs.sparse)},
                        {"dense", cost_json(costs.dense)},
                        {"crossover_length", nullptr}};
  if (costs.crossover) {
    json["crossover_length"] = *costs.crossover;
  }
  print_json(json);
}

}  // namespace

void add_pattern_cost(CLI::App& parent) {
  auto options = std::make_shared<CostOptions>();
  CLI::App& app =
      add_command(parent, "cost", "operations, bytes, memory and predicted time in a model, beside full attention",
                  std::string(kCostExamples));
  app.add_option("EXPRESSION", options->expression, "the pattern: docs/pattern-language.md")->required();
  add_fields<CostConfig>(app, {.title = "Options"}, options->given);
  add_fields<pattern::ModelShape>(app, {.title = "Model"}, options->given);
  add_json_flag(app, options->json);
  app.callback([options] { show_cost(*options); });
}

}  // namespace weft::cli
