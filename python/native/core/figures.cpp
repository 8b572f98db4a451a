// SPDX-License-Identifier: Apache-2.0
// What a pattern connects and costs, as the JSON that `weft pattern stats` and `weft pattern cost` print.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>

#include "bindings.h"
#include "weft/cli/front/bench/calibration_file.h"
#include "weft/core/error.h"
#include "weft/formats/config_json.h"
#include "weft/inspect/cost/model_cost.h"
#include "weft/inspect/graph/statistics.h"
#include "weft/page/figures_json.h"
#include "weft/pattern/pattern.h"

namespace weft::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using formats::Json;
using pattern::Pattern;

std::string statistics(const std::string& expression, const OwnedSite& site, const std::string& directory,
                       std::int64_t head, std::int64_t layers) {
  const Pattern pattern = Pattern::parse(expression, directory);
  inspect::GraphRequest request{.site = site.view(), .layers = layers};
  if (head >= 0) {
    request.head = head;
  }
  return page::stats_json(pattern.to_string(), inspect::graph_statistics(pattern, request)).dump();
}

std::string layout(const std::string& expression, const OwnedSite& site, const std::string& directory) {
  constexpr pattern::Tile kTile{64, 64};
  const Pattern pattern = Pattern::parse(expression, directory);
  pattern.check(site.view());
  const pattern::LayoutStatistics found = pattern::statistics(pattern::compile(pattern, site.view(), kTile));
  return Json{{"edges", found.edges},
              {"density", found.density},
              {"blocks", found.blocks},
              {"full_blocks", found.full_blocks},
              {"partial_blocks", found.partial_blocks},
              {"weighted_blocks", found.weighted_blocks},
              {"slots", found.slots},
              {"edges_per_slot", found.edges_per_slot},
              {"bytes", found.bytes}}
      .dump();
}

// Seconds follow the order of the blocks, which a sample does not know.
std::string cost(const std::string& expression, std::int64_t length, const std::string& shape_json,
                 std::vector<std::int64_t> input, const std::string& directory) {
  constexpr std::int64_t kLongest = std::int64_t{1} << 31;
  require(length >= 1 && length <= kLongest, "cost: length must be between 1 and ", kLongest, ", found ", length);
  const Pattern pattern = Pattern::parse(expression, directory);
  inspect::ModelShape shape;
  const Json given = Json::parse(shape_json, nullptr, false);
  require(given.is_object(), "cost: the shape must be a JSON object");
  formats::update_from_json(shape, given, "cost");
  std::sort(input.begin(), input.end());
  shape.input = std::move(input);
  const std::optional<inspect::LayerEstimates> sampled = estimated_works(pattern, shape, length);
  const std::optional<inspect::MachineRates> rates = sampled ? std::nullopt : cli::find_rates("", 0);
  const std::vector<inspect::LayoutWork> works = sampled ? *sampled : layer_works(pattern, shape, length);
  return Json{{"expression", pattern.to_string()},
              {"length", length},
              {"estimated", sampled.has_value()},
              {"shape", formats::to_json(shape)},
              {"sparse", page::cost_json(sparse_cost(shape, length, works, rates))},
              {"dense", page::cost_json(dense_cost(shape, length, rates))}}
      .dump();
}

}  // namespace

void bind_figures(nb::module_& module) {
  using OthersGoOn = nb::call_guard<nb::gil_scoped_release>;
  module.def("statistics", statistics, OthersGoOn(), "expression"_a, "site"_a, "directory"_a = "", "head"_a = -1,
             "layers"_a = 0);
  module.def("layout", layout, OthersGoOn(), "expression"_a, "site"_a, "directory"_a = "");
  module.def("cost", cost, OthersGoOn(), "expression"_a, "length"_a, "shape"_a = "{}",
             "input"_a = std::vector<std::int64_t>(), "directory"_a = "");
}

}  // namespace weft::python
