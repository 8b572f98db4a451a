// SPDX-License-Identifier: Apache-2.0
// Rules between the fields.
#include "weft/fine_tuning/retrieval/config.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "weft/core/error.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"

namespace weft::fine_tuning {
namespace {

bool is_loss_of(std::string_view loss, std::string_view task) {
  const bool embeds = loss == "in-batch" || loss == "cosine" || loss == "cosent";
  return loss == "auto" || embeds == (task == "embed");
}

}  // namespace

bool is_retrieval_task(std::string_view task) { return task == "embed" || task == "rerank"; }

std::vector<double> weights_of(const RetrievalConfig& config) {
  if (config.matryoshka_weights.empty()) {
    return std::vector<double>(config.matryoshka_dims.size(), 1.0);
  }
  std::vector<double> weights;
  weights.reserve(config.matryoshka_weights.size());
  for (const std::string& word : config.matryoshka_weights) {
    const std::optional<double> weight = real_of(word);
    require(weight && std::isfinite(*weight) && *weight > 0, "matryoshka_weights must be numbers above 0, found ",
            Quoted(word));
    weights.push_back(*weight);
  }
  return weights;
}

void check_config(const RetrievalConfig& config, std::string_view task, std::string_view where) {
  if (!is_retrieval_task(task)) {
    return;
  }
  require(is_loss_of(config.loss, task), where, ": loss ", config.loss, " is not for ", option("task"), " ", task, "; ",
          task == "embed" ? "in-batch, cosine and cosent are" : "binary and softmax are");
  require(task == "embed" || (config.matryoshka_dims.empty() && config.query_prompt.empty() &&
                              config.document_prompt.empty() && !config.symmetric),
          where, ": matryoshka_dims, prompts and symmetric are for ", option("task"), " embed, and not for ", task);
  const bool in_batch = config.loss == "auto" || config.loss == "in-batch";
  require(!config.symmetric || in_batch, where, ": symmetric is for the loss in-batch, found ", config.loss);
  const std::vector<std::int64_t>& dims = config.matryoshka_dims;
  require(std::all_of(dims.begin(), dims.end(), [](std::int64_t dim) { return dim >= 1; }), where,
          ": matryoshka_dims must be at least 1, found one that is not");
  require(std::adjacent_find(dims.begin(), dims.end(), std::less_equal<>()) == dims.end(), where,
          ": matryoshka_dims must fall, the largest first, and differ");
  require(config.matryoshka_weights.empty() || config.matryoshka_weights.size() == dims.size(), where,
          ": matryoshka_weights must have a weight for each of the ", dims.size(), " matryoshka_dims, found ",
          config.matryoshka_weights.size());
  weights_of(config);
}

}  // namespace weft::fine_tuning
