// SPDX-License-Identifier: Apache-2.0
// Further models that write together with the one of `weft translate`, and trees as the only texts that may come.
#pragma once

#include <string>
#include <vector>

#include "weft/core/fields.h"

namespace weft::tasks {

struct JointWritingConfig {
  std::vector<std::string> with;
  std::vector<std::string> model_weights;
  std::string mean = "probabilities";
  std::string tree_labels;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = JointWritingConfig;
    visit(Field{"with", &C::with,
                "directories of further models with the same vocabulary, which write together with the first"});
    visit(Field{"model_weights", &C::model_weights,
                "a number for each model, that of the first one first; without them all count alike"});
    visit(Field{"mean", &C::mean,
                "what several models are joined by: the mean of their probabilities, or of the logarithms"}
              .one_of({"probabilities", "logarithms"}));
    visit(Field{"tree_labels", &C::tree_labels,
                "file of trees (NAME.trees of weft data trees): only balanced trees of its labels over the words of "
                "the text are written; texts are not cut into sentences"});
  }
};

}  // namespace weft::tasks
