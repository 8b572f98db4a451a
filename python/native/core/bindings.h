// SPDX-License-Identifier: Apache-2.0
// The pieces of the module _core, and the site that its functions are asked at.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "weft/pattern/site.h"

namespace weft::python {

/// A site that owns the positions that `input` means.
struct OwnedSite {
  pattern::Site site;
  std::vector<std::int64_t> input;

  pattern::Site view() const {
    pattern::Site result = site;
    result.input = input;
    return result;
  }
};

/// Errors of Weft become the exceptions of weft_attention._errors.
void translate_errors();

void bind_site(nanobind::module_& module);
void bind_expressions(nanobind::module_& module);
void bind_blocks(nanobind::module_& module);
void bind_figures(nanobind::module_& module);
void bind_pictures(nanobind::module_& module);
void bind_program(nanobind::module_& module);

}  // namespace weft::python
