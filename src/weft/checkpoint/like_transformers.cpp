// SPDX-License-Identifier: Apache-2.0
// Other expressions for the layers, and a bias of zeros.
#include "weft/checkpoint/like_transformers.h"

#include <c10/core/GradMode.h>

#include <string>

#include "weft/checkpoint/model_directory.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::checkpoint {
namespace {

using models::CausalFamily;
using models::LikeTransformers;

std::string named(const OpenedModel& directory) { return quote(directory.path().string(), 4096); }

/// "Reformers and Transformer-XLs": the families of which `holds`.
template <typename Holds>
std::string plurals(const Holds& holds) {
  std::string words;
  for (const CausalFamily* family : models::causal_families()) {
    if (holds(*family)) {
      words += concat(words.empty() ? "" : " and ", family->title.substr(family->title.find(' ') + 1), "s");
    }
  }
  return words;
}

using Differs = decltype(CausalFamily::scores_like_transformers);

LikeTransformers differences(const OpenedModel& directory, Differs CausalFamily::* differs) {
  const CausalFamily* const family = directory.published_decoder();
  const bool knows = family != nullptr && family->*differs != nullptr;
  require(knows, "--like-transformers is for ",
          plurals([](const CausalFamily& each) { return each.continues_like_transformers != nullptr; }),
          " of transformers, in weft eval for ", plurals([](const CausalFamily& each) {
            return each.continues_like_transformers == nullptr && each.scores_like_transformers != nullptr;
          }),
          ", too, and ", named(directory), " holds another model");
  return (family->*differs)(directory.own_config(), named(directory));
}

models::LanguageModel load(const OpenedModel& directory, const LikeTransformers& like) {
  models::LanguageModel model = load_model(directory, {.attention = like.attention});
  const at::NoGradGuard without_gradients;
  for (auto& parameter : model->named_parameters()) {
    if (like.without_head_bias && parameter.key() == "head.bias") {
      parameter.value().zero_();
    }
  }
  return model;
}

}  // namespace

LikeTransformers like_transformers(const OpenedModel& directory) {
  return differences(directory, &CausalFamily::scores_like_transformers);
}

models::LanguageModel load_like_transformers(const OpenedModel& directory) {
  return load(directory, like_transformers(directory));
}

models::LanguageModel load_cached_like_transformers(const OpenedModel& directory) {
  const CausalFamily* const family = directory.published_decoder();
  const bool continues =
      family == nullptr || family->continues_like_transformers == nullptr || directory.own_config().is_decoder;
  if (!continues) {
    fail(ErrorKind::kUnsupported, "--like-transformers: ", named(directory),
         " holds an encoder, which continues no text");
  }
  return load(directory, differences(directory, &CausalFamily::continues_like_transformers));
}

}  // namespace weft::checkpoint
