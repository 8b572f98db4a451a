// SPDX-License-Identifier: Apache-2.0
// Windows may come in any order of batches, so that their entities are kept by window and joined at the end.
#include "weft/tasks/tag.h"

#include <algorithm>
#include <iterator>

#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include "weft/checkpoint/open_model.h"
#include "weft/tasks/decode/tagged_tokens.h"

namespace weft::tasks {
namespace {

formats::Json entity_json(const Entity& entity, bool grouped) {
  formats::Json json = {{grouped ? "entity_group" : "entity", entity.label}, {"score", entity.score}};
  if (!grouped) {
    json["index"] = entity.index;
  }
  json["word"] = entity.word;
  json["start"] = entity.offsets.begin;
  json["end"] = entity.offsets.end;
  json["byte_start"] = entity.byte_offsets.begin;
  json["byte_end"] = entity.byte_offsets.end;
  return json;
}

std::vector<std::string> labels_of(const models::EncoderModelImpl& model) {
  return model.head() == models::Head::kReplacedTokens ? std::vector<std::string>{"original", "replaced"}
                                                       : model.config().id2label;
}

// [tokens, labels]. One logit a token is that of the second of two labels, of which the first has 0: their softmax is
// the sigmoid.
at::Tensor scores_of_labels(const at::Tensor& logits) {
  return logits.dim() == 1 ? at::stack({at::zeros_like(logits), logits}, 1) : logits;
}

// The entities of all windows as those of one text.
std::vector<Entity> merged(std::vector<std::vector<Entity>> windows, bool overlapping) {
  std::vector<Entity> all;
  for (std::vector<Entity>& window : windows) {
    all.insert(all.end(), std::make_move_iterator(window.begin()), std::make_move_iterator(window.end()));
  }
  return overlapping ? without_overlaps(std::move(all)) : all;
}

}  // namespace

models::Head tagging_head(const checkpoint::OpenedModel& directory) {
  directory.prefer(models::Head::kTokenClassification);
  const bool replaced = directory.head() == models::Head::kReplacedTokens;
  return replaced ? models::Head::kReplacedTokens : models::Head::kTokenClassification;
}

std::vector<TaskResult> tag(TaskModel& task, std::span<const Document> documents, const TagOptions& options) {
  const bool grouped = options.aggregation != Aggregation::kNone;
  const std::vector<std::string> labels = labels_of(*task.model);
  const LengthRule rule = windowed_texts(task, options.run, text::Truncation::kOnlyFirst);
  EncodedBatch encoded(task, documents, rule);
  const auto join = [&](const std::vector<std::string>& tokens) { return task.tokenizer->join(tokens); };
  std::vector<std::vector<std::vector<Entity>>> found(documents.size());
  encoded.run(task, options.run.batch, false, [&](const EncodedBatch::Place& place, const WindowOutput& output) {
    const std::size_t windows = encoded[place.document].windows.size();
    const std::string& text = documents[place.document].first;
    const at::Tensor scores = scores_of_labels(output.logits);
    std::vector<TaggedToken> tokens = tagged_tokens(*task.tokenizer, text, encoded.encoding(place), numbers(scores));
    std::span<const TaggedToken> own = tokens;
    if (!grouped) {
      const auto [begin, end] = own_tokens(tokens.size(), place.window, windows, static_cast<std::size_t>(rule.stride));
      own = own.subspan(begin, end - begin);
    }
    found[place.document].resize(windows);
    found[place.document][place.window] =
        without_labels(aggregate(own, labels, options.aggregation, join), options.ignore_labels);
  });
  std::vector<TaskResult> results(documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) {
    results[i].result = formats::Json::array();
    const bool overlapping = grouped && found[i].size() > 1;
    for (const Entity& entity : merged(std::move(found[i]), overlapping)) {
      results[i].result.push_back(entity_json(entity, grouped));
    }
    results[i].metadata = encoded.metadata(i);
  }
  return results;
}

}  // namespace weft::tasks
