// SPDX-License-Identifier: Apache-2.0
// The commands that compute with tensors, by name. They are in libweft; the program asks it for the one that was named.
#pragma once

#include <array>
#include <string_view>

#include <CLI/App.hpp>

#include "weft/cli/tasks/task_commands.h"

namespace weft::cli {

/// Each is the last function of the file that is named after its command.
void add_train(CLI::App& parent);
void add_eval(CLI::App& parent);
void add_report(CLI::App& parent);
void add_compare(CLI::App& parent);
void add_generate(CLI::App& parent);
void add_info(CLI::App& parent);
void add_bench(CLI::App& parent);
void add_version(CLI::App& parent);

struct TensorCommand {
  std::string_view name;
  void (*add)(CLI::App& parent);
};

inline constexpr std::array kTensorCommands{
    TensorCommand{"train", add_train},         TensorCommand{"eval", add_eval},
    TensorCommand{"report", add_report},       TensorCommand{"compare", add_compare},
    TensorCommand{"generate", add_generate},   TensorCommand{"tokenize", add_tokenize},
    TensorCommand{"fill-mask", add_fill_mask}, TensorCommand{"embed", add_embed},
    TensorCommand{"classify", add_classify},   TensorCommand{"tag", add_tag},
    TensorCommand{"answer", add_answer},       TensorCommand{"choose", add_choose},
    TensorCommand{"forward", add_forward},     TensorCommand{"convert", add_convert},
    TensorCommand{"init", add_init},           TensorCommand{"info", add_info},
    TensorCommand{"bench", add_bench},         TensorCommand{"version", add_version},
};

}  // namespace weft::cli
