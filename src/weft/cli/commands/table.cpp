// SPDX-License-Identifier: Apache-2.0
// The list to extend for a new command: docs/recipes/add-a-command.md.
#include "weft/cli/commands/table.h"

#include <algorithm>
#include <array>

namespace weft::cli {

std::span<const Command> commands() {
  static constexpr std::array kCommands{
      Command{"train", "train a language model, or an encoder for a task"},
      Command{"eval", "bits per byte or masked tokens of a text, or the metrics of a task on labelled data"},
      Command{"report", "a run as one HTML page: figures, curves, pattern, settings"},
      Command{"compare", "runs side by side: last figures, and settings that differ"},
      Command{"generate", "continue a prompt with a trained decoder"},
      Command{"tokenizer", "make a vocabulary", add_tokenizer},
      Command{"data", "look at data sets, and make them", add_data},
      Command{"tokenize", "ids, tokens and their places in a text; no model is needed"},
      Command{"fill-mask", "the likeliest tokens where a text has the mask"},
      Command{"embed", "a vector for each text"},
      Command{"classify", "labels for texts or pairs of texts"},
      Command{"tag", "entities in texts of any length, with their places"},
      Command{"answer", "answers that stand in a document of any length"},
      Command{"choose", "which of several texts goes with a prompt"},
      Command{"forward", "tensors in, tensors out, by the names of transformers"},
      Command{"convert", "a long encoder out of a BERT or RoBERTa checkpoint"},
      Command{"init", "a randomly initialised model directory of a family and shape"},
      Command{"info", "what a model or run directory holds"},
      Command{"pattern", "look at an attention pattern: who may attend to whom", add_pattern},
      Command{"bench", "measure this machine, beside dense attention, in one run"},
      Command{"version", "versions of Weft and LibTorch, and what the processor can do"},
  };
  return kCommands;
}

const Command* find_command(std::string_view name) {
  const std::span<const Command> all = commands();
  const auto found = std::ranges::find(all, name, &Command::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace weft::cli
