// SPDX-License-Identifier: Apache-2.0
// The family says what its heads read.
#include "weft/fine_tuning/trained_leaves.h"

#include "weft/models/families/family.h"
#include "weft/training/leaves.h"

namespace weft::fine_tuning {

std::vector<std::pair<std::string, at::Tensor>> trained_leaves(const models::EncoderModelImpl& model) {
  std::vector<std::pair<std::string, at::Tensor>> result = training::leaves_of(model);
  if (!models::reads_pooler(models::find_family(model.config().model_type), model.head())) {
    std::erase_if(result, [](const auto& leaf) { return leaf.first.starts_with("head.pooler"); });
  }
  return result;
}

}  // namespace weft::fine_tuning
