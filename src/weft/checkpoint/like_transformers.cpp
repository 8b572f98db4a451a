// SPDX-License-Identifier: Apache-2.0
// Other expressions for the layers, and a bias of zeros.
#include "weft/checkpoint/like_transformers.h"

#include <c10/core/GradMode.h>

#include <string>

#include "weft/checkpoint/model_directory.h"
#include "weft/checkpoint/model_kind.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/models/families/families.h"
#include "weft/models/family_names.h"

namespace weft::checkpoint {
namespace {

using models::CausalRules;
using models::LikeTransformers;

std::string named(const OpenedModel& directory) { return quote(directory.path().string(), 4096); }

/// Null for what predicts no tokens.
const CausalRules* rules_of(const OpenedModel& directory) {
  return opens_as_predictor(directory.json()) ? &predictor_rules(directory) : nullptr;
}

/// "Reformers and Transformer-XLs": the families of which `holds`.
template <typename Holds>
std::string plurals(const Holds& holds) {
  std::string words;
  for (const models::Family* family : models::families()) {
    if (family->causal != nullptr && holds(*family->causal)) {
      const std::string_view title = models::find_family_name(family->name)->title;
      words += concat(words.empty() ? "" : " and ", title.substr(title.find(' ') + 1), "s");
    }
  }
  return words;
}

using Differs = decltype(CausalRules::scores_like_transformers);

LikeTransformers differences(const OpenedModel& directory, Differs CausalRules::* differs) {
  const CausalRules* const rules = rules_of(directory);
  require(
      rules != nullptr && rules->*differs != nullptr, option("like_transformers"), " is for ",
      [&] { return plurals([](const CausalRules& each) { return each.continues_like_transformers != nullptr; }); },
      " of transformers, in weft eval for ",
      [&] {
        return plurals([](const CausalRules& each) {
          return each.continues_like_transformers == nullptr && each.scores_like_transformers != nullptr;
        });
      },
      ", too, and ", [&] { return named(directory); }, " holds another model");
  return (rules->*differs)(load_config(directory), named(directory));
}

models::LanguageModel load(const OpenedModel& directory, const LikeTransformers& like, at::ScalarType dtype) {
  models::LanguageModel model = load_model(directory, {.attention = like.attention, .dtype = dtype});
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
  return differences(directory, &CausalRules::scores_like_transformers);
}

models::LanguageModel load_like_transformers(const OpenedModel& directory) {
  return load(directory, like_transformers(directory), at::kFloat);
}

models::LanguageModel load_cached_like_transformers(const OpenedModel& directory, at::ScalarType dtype) {
  const CausalRules* const rules = rules_of(directory);
  const bool continues =
      rules == nullptr || rules->continues_like_transformers == nullptr || load_config(directory).is_decoder;
  if (!continues) {
    fail(ErrorKind::kUnsupported, option("like_transformers"), ": ", named(directory),
         " holds an encoder, which continues no text");
  }
  return load(directory, differences(directory, &CausalRules::continues_like_transformers), dtype);
}

}  // namespace weft::checkpoint
