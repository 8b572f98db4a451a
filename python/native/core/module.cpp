// SPDX-License-Identifier: Apache-2.0
// The module weft_attention._core: patterns as strings, without PyTorch. Its surface is _core.pyi.
#include <nanobind/nanobind.h>

#include "bindings.h"
#include "weft/core/version.h"

NB_MODULE(_core, module) {
  module.attr("version") = nanobind::str(weft::kVersion.data(), weft::kVersion.size());
  weft::python::translate_errors();
  weft::python::bind_site(module);
  weft::python::bind_expressions(module);
  weft::python::bind_blocks(module);
  weft::python::bind_figures(module);
  weft::python::bind_pictures(module);
  weft::python::bind_program(module);
}
