// SPDX-License-Identifier: Apache-2.0
// Hidden states are summed batch by batch, so that only one batch of them is ever held; the sums of a text's windows
// are joined in the order of the text, whatever the order in which they were run.
#include "weft/tasks/embed.h"

#include <algorithm>
#include <utility>

#include "weft/tasks/decode/scores.h"
#include "weft/tasks/decode/tagged_tokens.h"

namespace weft::tasks {
namespace {

// The rows of a window that count in its text's mean: the tokens that it alone answers for, and the special ones before
// the first window's and behind the last one's.
std::pair<std::int64_t, std::int64_t> own_rows(const EncodedDocument& document, std::size_t window,
                                               std::int64_t stride) {
  const std::vector<std::int64_t>& special = document.windows[window].special_mask;
  const std::int64_t text = std::find(special.begin(), special.end(), 0) - special.begin();
  const auto tokens = static_cast<std::size_t>(std::count(special.begin(), special.end(), 0));
  const std::size_t windows = document.windows.size();
  const auto [begin, end] = own_tokens(tokens, window, windows, static_cast<std::size_t>(stride));
  return {window == 0 ? 0 : text + static_cast<std::int64_t>(begin),
          window + 1 == windows ? static_cast<std::int64_t>(special.size()) : text + static_cast<std::int64_t>(end)};
}

}  // namespace

std::vector<TaskResult> embed(TaskModel& task, std::span<const Document> documents, const EmbedOptions& options) {
  const LengthRule rule = windowed_texts(task, options.run, text::Truncation::kOnlyFirst);
  EncodedBatch encoded(task, documents, rule);
  std::vector<std::vector<PooledPart>> parts(documents.size());
  encoded.run(task, options.run.batch, true, [&](const EncodedBatch::Place& place, const WindowOutput& output) {
    const EncodedDocument& document = encoded[place.document];
    const auto [begin, end] = own_rows(document, place.window, rule.stride);
    parts[place.document].resize(document.windows.size());
    const std::span<const float> hidden = numbers(output.hidden);
    require_finite(hidden);
    parts[place.document][place.window] = pool_part(hidden, output.hidden.size(1), options.pooling, begin, end);
  });
  std::vector<TaskResult> results(documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) {
    results[i].result = pool_parts(parts[i], options.normalize);
    results[i].metadata = encoded.metadata(i);
  }
  return results;
}

}  // namespace weft::tasks
