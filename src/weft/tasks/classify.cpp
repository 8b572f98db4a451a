// SPDX-License-Identifier: Apache-2.0
// One row of logits a document, and what becomes of it.
#include "weft/tasks/classify.h"

#include "weft/tasks/decode/scores.h"

namespace weft::tasks {

std::vector<TaskResult> classify(TaskModel& task, std::span<const Document> documents, const ClassifyOptions& options) {
  const models::EncoderConfig& config = task.model->config();
  const ScoreFunction function = score_function(options.function, config.problem_type, config.num_labels());
  EncodedBatch encoded(task, documents, whole_texts(task, options.run));
  std::vector<TaskResult> results(documents.size());
  encoded.run(task, options.run.batch, false, [&](const EncodedBatch::Place& place, const WindowOutput& output) {
    formats::Json labels = formats::Json::array();
    for (const Scored& scored : best(label_scores(numbers(output.logits), function), options.top_k)) {
      labels.push_back(
          {{"label", config.id2label.at(static_cast<std::size_t>(scored.index))}, {"score", scored.score}});
    }
    results[place.document].result = std::move(labels);
  });
  for (std::size_t i = 0; i < documents.size(); ++i) {
    results[i].metadata = encoded.metadata(i);
    results[i].metadata["function"] = to_string(function);
  }
  return results;
}

}  // namespace weft::tasks
