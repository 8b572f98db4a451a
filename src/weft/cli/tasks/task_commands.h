// SPDX-License-Identifier: Apache-2.0
// The commands of this folder; commands/table.cpp lists them.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the name that CLI11 gave it
class App;
}

namespace weft::cli {

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

}  // namespace weft::cli
