// SPDX-License-Identifier: Apache-2.0
// The commands of the program `weft` that need no tensors, run inside Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string_view>

#include "bindings.h"
#include "weft/cli/front/commands/table.h"
#include "weft/cli/front/run.h"
#include "weft/kernels/fused.h"

namespace weft::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

int run(std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) {
    pointers.push_back(argument.data());
  }
  pointers.push_back(nullptr);
  return cli::run(static_cast<int>(arguments.size()), pointers.data());
}

std::vector<std::string> command_names(bool with_tensors) {
  std::vector<std::string> names;
  names.reserve(cli::commands().size());
  for (const cli::Command& command : cli::commands()) {
    if ((command.add == nullptr) == with_tensors) {
      names.emplace_back(command.name);
    }
  }
  return names;
}

}  // namespace

void bind_program(nb::module_& module) {
  module.def("run", run, nb::call_guard<nb::gil_scoped_release>(), "arguments"_a);
  module.def("commands", [] { return command_names(false); });
  module.def("tensor_commands", [] { return command_names(true); });
  module.def("isa", [] { return std::string(kernels::to_string(kernels::chosen_isa())); });
}

}  // namespace weft::python
