// SPDX-License-Identifier: Apache-2.0
// One state goes through the whole text; it forgets what the memory has no room for.
#include "weft/training/evaluation/segment_scoring.h"

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"

namespace weft::training {

double segment_nats(models::LanguageModel model, const at::Tensor& ids, const WindowOptions& options,
                    const OnSegment& on_segment) {
  require(options.context >= 1, "context must be at least 1, found ", options.context);
  if (options.shares > 1) {
    fail(ErrorKind::kUnsupported, "a text behind a memory is scored by one process, found ", options.shares);
  }
  const std::int64_t targets = ids.numel() - 1;
  require(targets >= 1, "a text of at least two tokens can be evaluated, found ", ids.numel());
  layers::DecodingState state = model->initial_state();
  double nats = 0.0;
  for (std::int64_t begin = 0; begin < targets; begin += options.context) {
    const std::int64_t count = std::min(options.context, targets - begin);
    const at::Tensor labels = ids.narrow(0, begin + 1, count).unsqueeze(0);
    const models::TokenScores scores = model->token_scores(ids.narrow(0, begin, count).unsqueeze(0), labels, state);
    nats += scores.nats.sum(at::kDouble).item<double>();
    if (!std::isfinite(nats)) {
      fail(ErrorKind::kNumeric, "the loss became ", nats, " within tokens ", begin, " to ", begin + count,
           " of the text");
    }
    on_segment(scores, labels);
    if (options.progress) {
      options.progress(begin + count, targets);
    }
  }
  return nats;
}

}  // namespace weft::training
