// SPDX-License-Identifier: Apache-2.0
// Sums in float64, as those of the models.
#include "weft/checkpoint/sentence/mean_modules.h"

#include <vector>

#include <ATen/TensorOperators.h>

#include "weft/checkpoint/sentence/module_files.h"
#include "weft/core/error.h"

namespace weft::checkpoint {
namespace {

// The weights of a module, in one order; those that it lacks are undefined.
std::vector<at::Tensor*> weights_of(SentenceModule& module) {
  if (auto* dense = std::get_if<DenseModule>(&module)) {
    return {&dense->weight, &dense->bias, &dense->residual};
  }
  if (auto* norm = std::get_if<LayerNormModule>(&module)) {
    return {&norm->weight, &norm->bias};
  }
  return {};
}

bool have_one_shape(const at::Tensor& first, const at::Tensor& second) {
  return first.defined() == second.defined() && (!first.defined() || first.sizes() == second.sizes());
}

bool are_alike(std::vector<SentenceModule>& first, std::vector<SentenceModule>& second) {
  if (modules_text(first) != modules_text(second)) {
    return false;
  }
  for (std::size_t i = 0; i < first.size(); ++i) {
    const std::vector<at::Tensor*> left = weights_of(first[i]);
    const std::vector<at::Tensor*> right = weights_of(second[i]);
    for (std::size_t at = 0; at < left.size(); ++at) {
      if (!have_one_shape(*left[at], *right[at])) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

std::optional<SentenceDirectory> mean_of_modules(std::span<const std::filesystem::path> directories) {
  std::vector<std::optional<SentenceDirectory>> all;
  for (const std::filesystem::path& directory : directories) {
    all.push_back(read_sentence_directory(directory));
    require(
        all.front().has_value() == all.back().has_value() &&
            (!all.front() || are_alike(all.front()->modules, all.back()->modules)),
        "only models with the same modules have a mean, but those of ", [&] { return quoted_place(directory); },
        " are not those of ", [&] { return quoted_place(directories.front()); });
  }
  if (all.empty() || !all.front()) {
    return std::nullopt;
  }
  SentenceDirectory mean = *all.front();
  for (std::size_t i = 0; i < mean.modules.size(); ++i) {
    const std::vector<at::Tensor*> sums = weights_of(mean.modules[i]);
    for (std::size_t at = 0; at < sums.size(); ++at) {
      if (!sums[at]->defined()) {
        continue;
      }
      at::Tensor sum = sums[at]->to(at::kDouble);
      for (std::size_t other = 1; other < all.size(); ++other) {
        sum = sum + *weights_of(all[other]->modules[i])[at];
      }
      *sums[at] = (sum / static_cast<double>(all.size())).to(at::kFloat);
    }
  }
  return mean;
}

}  // namespace weft::checkpoint
