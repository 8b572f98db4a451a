// SPDX-License-Identifier: Apache-2.0
// What may be said of scores of pairs and of rankings.
#pragma once

#include <cstdint>

#include "weft/core/fields.h"
#include "weft/tasks/rerank.h"

namespace weft::tasks {

struct RerankConfig {
  std::int64_t top_k = 0;
  bool raw_scores = false;
  bool return_text = false;
  bool windows = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = RerankConfig;
    visit(Field{"top_k", &C::top_k, "texts listed for a query, best first; 0 for all"}.at_least(0));
    visit(Field{"raw_scores", &C::raw_scores,
                "scores are the model's logits; else what the directory names makes scores of them, without a name a "
                "sigmoid"});
    visit(Field{"return_text", &C::return_text, "in JSON, each result has its text, too"});
    visit(Field{"windows", &C::windows,
                "read a text that is too long in windows, each with the whole query; the best window's score is the "
                "text's"});
  }
};

/// `settings` are those of the model's directory.
inline RerankOptions rerank_options(const RerankConfig& config, const checkpoint::CrossEncoderSettings& settings,
                                    const RunOptions& run) {
  return {.settings = settings,
          .raw_scores = config.raw_scores,
          .windows = config.windows,
          .top_k = config.top_k,
          .return_text = config.return_text,
          .run = run};
}

}  // namespace weft::tasks
