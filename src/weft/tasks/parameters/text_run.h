// SPDX-License-Identifier: Apache-2.0
// What may be said of every task on texts: how long they may be, and how many are computed together. The command line
// has a flag for each field, and Python an argument.
#pragma once

#include <cstdint>

#include "weft/core/fields.h"
#include "weft/tasks/task_run.h"

namespace weft::tasks {

struct TextRunConfig {
  std::int64_t max_length = 0;
  std::int64_t stride = -1;
  std::int64_t batch_size = 8;
  std::int64_t batch_tokens = 16384;
  bool truncate = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = TextRunConfig;
    visit(Field{"max_length", &C::max_length,
                "longest window in tokens, special tokens included; 0 for the longest that the model takes"}
              .at_least(0));
    visit(Field{"stride", &C::stride,
                "tokens that neighbouring windows of a long text share; -1 for a quarter of a window, at most 128"}
              .at_least(-1));
    visit(Field{"batch_size", &C::batch_size,
                "texts or windows that are computed together; with 1 each line is answered as soon as it is read"}
              .range(1, 1 << 16));
    visit(Field{"batch_tokens", &C::batch_tokens, "tokens that are computed together at most, padding included"}.range(
        1, 1 << 30));
    visit(Field{"truncate", &C::truncate, "cut texts that are too long for the model"});
  }
};

/// What the fields amount to, but for max_length, which is of the model (TaskModelOptions).
inline RunOptions run_options(const TextRunConfig& config) {
  return {.truncate = config.truncate,
          .stride = config.stride,
          .batch = {.rows = config.batch_size, .tokens = config.batch_tokens}};
}

}  // namespace weft::tasks
