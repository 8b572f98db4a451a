// SPDX-License-Identifier: Apache-2.0
// The commands that compute with tensors, by name. They are in libweft; the program asks it for the one that was named.
#pragma once

#include <array>
#include <string_view>

#include <CLI/App.hpp>

namespace weft::cli {

#define WEFT_REGISTER_CORE_COMMAND(name, add, about)

/// Each is the last function of the file that is named after its command.
#define WEFT_REGISTER_TENSOR_COMMAND(name, add, about) void add(CLI::App& parent);
#include "weft/cli/front/commands/list.inc"
#undef WEFT_REGISTER_TENSOR_COMMAND

/// `weft pattern spans`.
void add_pattern_spans(CLI::App& parent);

/// The commands below `weft bench`.
void add_bench_attention(CLI::App& parent);
void add_bench_model(CLI::App& parent);
void add_bench_calibrate(CLI::App& parent);
void add_bench_mechanisms(CLI::App& parent);

struct TensorCommand {
  std::string_view name;
  void (*add)(CLI::App& parent);
};

#define WEFT_REGISTER_TENSOR_COMMAND(name, add, about) TensorCommand{name, add},
inline constexpr std::array kTensorCommands{
#include "weft/cli/front/commands/list.inc"
};

#undef WEFT_REGISTER_CORE_COMMAND
#undef WEFT_REGISTER_TENSOR_COMMAND

}  // namespace weft::cli
