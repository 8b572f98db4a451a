// SPDX-License-Identifier: Apache-2.0
// The pieces of the module _runtime: what needs libweft, and with it the PyTorch of the process.
#pragma once

#include <nanobind/nanobind.h>

namespace weft::python {

/// What the module was built with: `torch`, the version of LibTorch.
void bind_build(nanobind::module_& module);
/// The class Model: a model directory and its tasks.
void bind_open(nanobind::module_& module);
/// The function train.
void bind_training(nanobind::module_& module);
/// The functions profile and propose.
void bind_profiling(nanobind::module_& module);

}  // namespace weft::python
