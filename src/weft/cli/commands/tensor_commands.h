// SPDX-License-Identifier: Apache-2.0
// The commands that compute with tensors, by name. They are in libweft; the program asks it for the one that was named.
#pragma once

#include <array>
#include <string_view>

#include <CLI/App.hpp>

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
void add_tokenize(CLI::App& parent);
void add_fill_mask(CLI::App& parent);
void add_embed(CLI::App& parent);
void add_classify(CLI::App& parent);
void add_tag(CLI::App& parent);
void add_answer(CLI::App& parent);
void add_choose(CLI::App& parent);
void add_forward(CLI::App& parent);
void add_convert(CLI::App& parent);
void add_init(CLI::App& parent);

/// The commands below `weft bench`.
void add_bench_attention(CLI::App& parent);
void add_bench_model(CLI::App& parent);
void add_bench_calibrate(CLI::App& parent);

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
