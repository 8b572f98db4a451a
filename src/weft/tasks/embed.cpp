// SPDX-License-Identifier: Apache-2.0
// Hidden states are pooled batch by batch, so that only one batch of them is ever held.
#include "weft/tasks/embed.h"

#include "weft/tasks/decode/scores.h"

namespace weft::tasks {

std::vector<TaskResult> embed(TaskModel& task, std::span<const Document> documents, const EmbedOptions& options) {
  EncodedBatch encoded(task, documents, whole_texts(task, options.run));
  std::vector<TaskResult> results(documents.size());
  encoded.run(task, options.run.batch, true, [&](const EncodedBatch::Place& place, const WindowOutput& output) {
    const std::vector<float> vector =
        pool(numbers(output.hidden), output.hidden.size(1), options.pooling, options.normalize);
    require_finite(vector);
    results[place.document].result = vector;
  });
  for (std::size_t i = 0; i < documents.size(); ++i) {
    results[i].metadata = encoded.metadata(i);
  }
  return results;
}

}  // namespace weft::tasks
