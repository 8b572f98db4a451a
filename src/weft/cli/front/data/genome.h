// SPDX-License-Identifier: Apache-2.0
// `weft data genome`: sequences as the documents of BigBird's figure 7.
#pragma once

#include <string_view>

#include <CLI/App.hpp>

namespace weft::cli {

inline constexpr std::string_view kGenomeExamples =
    "  weft data genome genome.fa.gz --out documents.txt\n"
    "  weft tokenizer train documents.txt --dna --vocabulary-size 32000 --out dna";

/// Adds the command to `weft data`.
void add_data_genome(CLI::App& data);

}  // namespace weft::cli
