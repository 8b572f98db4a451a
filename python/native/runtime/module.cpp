// SPDX-License-Identifier: Apache-2.0
// The module weft_attention_runtime._runtime. Its surface is _runtime.pyi; weft::Error becomes an exception by the
// module _core, which is imported before. The operators of operators.cpp are known to PyTorch once it is loaded.
#include <nanobind/nanobind.h>

#include <torch/version.h>

#include "bindings.h"
#include "weft/core/version.h"

namespace weft::python {

void bind_build(nanobind::module_& module) {
  module.attr("version") = nanobind::str(kVersion.data(), kVersion.size());
  module.attr("torch") = TORCH_VERSION;
}

}  // namespace weft::python

NB_MODULE(_runtime, module) {
  weft::python::bind_build(module);
  weft::python::bind_open(module);
  weft::python::bind_training(module);
  weft::python::bind_profiling(module);
}
