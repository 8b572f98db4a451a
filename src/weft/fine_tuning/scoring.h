// SPDX-License-Identifier: Apache-2.0
// All held-out examples of an objective through a model once, shared out among the processes that train together.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/fine_tuning/objective.h"

namespace weft::fine_tuning {

/// How examples are run.
struct ScoringOptions {
  Padding padding;
  std::int64_t examples = 64;     ///< of a batch at most
  std::int64_t tokens = 16384;    ///< of a batch with its padding; one example always fits
  std::string dtype = "float32";  ///< of products
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};  ///< in batches; may throw to stop
};

/// What objective.keep() writes for every held-out example, one behind the other; the same in every process. The model
/// is in evaluation mode. Errors: kNumeric for an output that is not finite.
std::vector<double> score_examples(const Objective& objective, models::EncoderModel& model,
                                   const ScoringOptions& options);

}  // namespace weft::fine_tuning
