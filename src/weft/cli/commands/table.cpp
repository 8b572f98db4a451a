// SPDX-License-Identifier: Apache-2.0
// The list to extend for a new command: docs/recipes/add-a-command.md.
#include "weft/cli/commands/table.h"

#include <algorithm>
#include <array>

namespace weft::cli {

std::span<const Command> commands() {
  static constexpr std::array kCommands{
      Command{"train", "train a language model, or an encoder for a task"},
      Command{"eval", "measure a model: bits per byte or masked tokens of a text, or the metrics of a task"},
      Command{"report", "write a run as one HTML page: figures, curves, errors, pattern, settings"},
      Command{"compare", "show runs side by side: last figures, the best of each, settings that differ"},
      Command{"generate", "continue a prompt with a trained decoder"},
      Command{"tokenizer", "train a tokeniser", add_tokenizer},
      Command{"data", "check data sets, and cut genomes into documents", add_data},
      Command{"tokenize", "print the tokens of a text, their ids and their places; needs no model"},
      Command{"fill-mask", "predict the tokens behind the mask of a text"},
      Command{"embed", "compute a vector for each text"},
      Command{"classify", "predict labels for texts or pairs of texts"},
      Command{"tag", "find entities, and their places, in texts of any length"},
      Command{"answer", "find answers to a question in documents of any length"},
      Command{"choose", "choose which of several texts fits a prompt"},
      Command{"forward", "run a model on the tensors of a file, named as in transformers"},
      Command{"convert", "make an encoder for long texts from a BERT or RoBERTa checkpoint"},
      Command{"init", "make a randomly initialised model directory of a family and shape"},
      Command{"info", "describe a model or run directory"},
      Command{"pattern", "draw, measure and compare attention patterns", add_pattern},
      Command{"bench", "time attention and models on this machine"},
      Command{"version", "print the versions of Weft and LibTorch, and what the processor can do"},
  };
  return kCommands;
}

const Command* find_command(std::string_view name) {
  const std::span<const Command> all = commands();
  const auto found = std::ranges::find(all, name, &Command::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace weft::cli
