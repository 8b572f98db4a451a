// SPDX-License-Identifier: Apache-2.0
// The blocks of a compiled pattern as arrays, from which Python makes the mask of another attention.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <vector>

#include "bindings.h"
#include "weft/core/error.h"
#include "weft/pattern/pattern.h"

namespace weft::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using pattern::Pattern;

pattern::BlockLayout compiled(const std::string& expression, const pattern::Site& site, const std::string& directory,
                              std::int32_t tile) {
  const nb::gil_scoped_release others_go_on;
  require(tile >= 64 && tile <= 4096 && tile % 64 == 0,
          "blocks: the tile must be a multiple of 64 between 64 and 4096, found ", tile);
  const Pattern pattern = Pattern::parse(expression, directory);
  pattern.check(site);
  pattern::BlockLayout blocks = pattern::compile(pattern, site, {tile, tile});
  if (std::any_of(blocks.kind.begin(), blocks.kind.end(), pattern::is_weighted)) {
    throw Error(ErrorKind::kUnsupported, concat("blocks: `", expression, "` counts some edges more than once"),
                "a mask of bits cannot say so: compute it with attend");
  }
  return blocks;
}

template <typename Number>
nb::bytes bytes_of(const std::vector<Number>& numbers) {
  return nb::bytes(numbers.data(), numbers.size() * sizeof(Number));
}

nb::tuple blocks(const std::string& expression, const OwnedSite& site, const std::string& directory,
                 std::int32_t tile) {
  const pattern::BlockLayout found = compiled(expression, site.view(), directory, tile);
  return nb::make_tuple(bytes_of(found.group), bytes_of(found.row_begin), bytes_of(found.key_block),
                        bytes_of(found.kind), bytes_of(found.mask_bits));
}

}  // namespace

void bind_blocks(nb::module_& module) {
  module.def("blocks", blocks, "expression"_a, "site"_a, "directory"_a = "", "tile"_a = 64);
}

}  // namespace weft::python
