// SPDX-License-Identifier: Apache-2.0
// What may be said of vectors in place of what the model's directory says.
#pragma once

#include <cstdint>
#include <string>

#include "weft/core/fields.h"
#include "weft/formats/config_json.h"
#include "weft/tasks/embedding/recipe.h"

namespace weft::tasks {

struct EmbedConfig {
  std::string pooling = "model";
  bool normalize = false;
  std::string prompt;
  std::string prompt_name;
  std::int64_t dimensions = -1;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = EmbedConfig;
    visit(Field{
        "pooling", &C::pooling,
        "how the vectors of a text's tokens become one: cls, max, mean, mean_sqrt_len_tokens, weightedmean or "
        "lasttoken, or several with commas, whose vectors come one behind the other; model follows the directory, "
        "and is mean where that says nothing"});
    visit(Field{"normalize", &C::normalize,
                "scale each vector to length 1 at the end; if false, leave out the norm with which the directory's "
                "modules end"}
              .follows("the directory"));
    visit(Field{"prompt", &C::prompt, "text before each text, in place of the directory's prompt"});
    visit(Field{"prompt_name", &C::prompt_name, "name of one of the directory's prompts, put before each text"});
    visit(Field{"dimensions", &C::dimensions,
                "numbers of each vector that are kept, from the first; 0 for all, -1 follows the directory"}
              .at_least(-1));
  }
};

/// What goes over the directory: the fields of `config` that were `given`. Errors: UsageError for a pooling that there
/// is not.
EmbedOverrides embed_overrides(const EmbedConfig& config, const formats::Json& given);

}  // namespace weft::tasks
