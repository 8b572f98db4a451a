// SPDX-License-Identifier: Apache-2.0
// Expressions: what they are in canonical form, whether they fit a site, and the meaning itself, pair by pair.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings.h"
#include "weft/core/error.h"
#include "weft/pattern/pattern.h"

namespace weft::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using pattern::Pattern;

/// Beyond this a dense table is a mistake: 4 GB.
constexpr std::int64_t kMostPairs = std::int64_t{1} << 30;

std::vector<std::int32_t> multiplicities(const Pattern& pattern, pattern::Site site) {
  std::vector<std::int32_t> table;
  table.reserve(static_cast<std::size_t>(site.heads * site.query_length * site.key_length));
  for (site.head = 0; site.head < site.heads; ++site.head) {
    for (std::int64_t query = 0; query < site.query_length; ++query) {
      for (std::int64_t key = 0; key < site.key_length; ++key) {
        table.push_back(pattern.multiplicity(site, query, key));
      }
    }
  }
  return table;
}

nb::bytes to_dense(const std::string& expression, const OwnedSite& site, const std::string& directory) {
  std::vector<std::int32_t> table;
  {
    const nb::gil_scoped_release others_go_on;
    const Pattern pattern = Pattern::parse(expression, directory);
    const pattern::Site asked = site.view();
    pattern.check(asked);
    const std::int64_t rows = asked.heads * asked.query_length;
    require(asked.key_length == 0 || rows <= kMostPairs / asked.key_length, "to_dense: ", rows, " x ", asked.key_length,
            " pairs are too many; expected at most ", kMostPairs, ": take a shorter length or fewer heads");
    table = multiplicities(pattern, asked);
  }
  return nb::bytes(table.data(), table.size() * sizeof(std::int32_t));
}

constexpr std::int64_t kLongest = std::int64_t{1} << 31;
constexpr std::int64_t kMostHeads = 4096;

void check_site(const pattern::Site& site) {
  require(
      site.query_length >= 0 && site.query_length <= kLongest && site.key_length >= 0 && site.key_length <= kLongest,
      "lengths must be between 0 and ", kLongest, ", found ", site.query_length, " queries and ", site.key_length,
      " keys");
  require(site.heads >= 1 && site.heads <= kMostHeads, "heads must be between 1 and ", kMostHeads, ", found ",
          site.heads);
  require(site.layer >= 0 && site.layer < kMostHeads, "layer must be between 0 and ", kMostHeads - 1, ", found ",
          site.layer);
}

}  // namespace

void bind_site(nb::module_& module) {
  nb::class_<OwnedSite>(module, "Site")
      .def(
          "__init__",
          [](OwnedSite* place, std::int64_t query_length, std::int64_t key_length, std::int64_t heads,
             std::int64_t layer, std::int64_t query_offset, std::int64_t maximum_length,
             std::vector<std::int64_t> input) {
            const pattern::Site site{.query_length = query_length,
                                     .key_length = key_length,
                                     .query_offset = query_offset,
                                     .heads = heads,
                                     .layer = layer,
                                     .maximum_length = maximum_length};
            check_site(site);
            std::sort(input.begin(), input.end());
            new (place) OwnedSite{site, std::move(input)};
          },
          "query_length"_a, "key_length"_a, nb::kw_only(), "heads"_a = 1, "layer"_a = 0, "query_offset"_a = 0,
          "maximum_length"_a = 0, "input"_a = std::vector<std::int64_t>());
}

void bind_expressions(nb::module_& module) {
  const auto parsed = [](const std::string& expression, const std::string& directory) {
    return Pattern::parse(expression, directory);
  };
  module.def(
      "parse",
      [parsed](const std::string& expression, const std::string& directory) {
        return parsed(expression, directory).to_string();
      },
      "expression"_a, "directory"_a = "");
  module.def(
      "expanded",
      [parsed](const std::string& expression, const std::string& directory) {
        return parsed(expression, directory).expanded();
      },
      "expression"_a, "directory"_a = "");
  module.def(
      "needs_input",
      [parsed](const std::string& expression, const std::string& directory) {
        return parsed(expression, directory).needs_input();
      },
      "expression"_a, "directory"_a = "");
  module.def(
      "depends_on_layer",
      [parsed](const std::string& expression, const std::string& directory) {
        return parsed(expression, directory).depends_on_layer();
      },
      "expression"_a, "directory"_a = "");
  module.def(
      "check",
      [parsed](const std::string& expression, const OwnedSite& site, const std::string& directory) {
        parsed(expression, directory).check(site.view());
      },
      "expression"_a, "site"_a, "directory"_a = "");
  module.def("to_dense", to_dense, "expression"_a, "site"_a, "directory"_a = "");
}

}  // namespace weft::python
