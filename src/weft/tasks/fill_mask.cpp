// SPDX-License-Identifier: Apache-2.0
// The masks of a window, the scores there, and the texts with each token put in.
#include "weft/tasks/fill_mask.h"

#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/tasks/decode/scores.h"

namespace weft::tasks {
namespace {

using formats::Json;

std::int64_t mask_id(const TaskModel& task) {
  const std::optional<std::int64_t> mask = task.tokenizer->special(text::SpecialRole::kMask);
  require(mask.has_value(), task.name, ": the tokeniser has no mask token");
  return *mask;
}

// A target that is no token stands for the first token of its text, as in the pipeline, and not without a word.
std::vector<std::int64_t> target_ids(const text::HuggingFaceTokenizer& tokenizer,
                                     const std::vector<std::string>& targets) {
  std::vector<std::int64_t> ids;
  for (const std::string& target : targets) {
    if (const std::optional<std::int64_t> id = tokenizer.find(target)) {
      ids.push_back(*id);
      continue;
    }
    const std::vector<std::int64_t> pieces = tokenizer.encode(target);
    require(!pieces.empty(), "the target ", quote(target), " has no token in the vocabulary");
    log_warning("the target ", quote(target), " is no token of the vocabulary; ",
                quote(tokenizer.token(pieces.front())), " stands for it");
    ids.push_back(pieces.front());
  }
  return ids;
}

std::vector<std::int64_t> mask_positions(const text::Encoding& encoding, std::int64_t mask) {
  std::vector<std::int64_t> positions;
  for (std::size_t token = 0; token < encoding.ids.size(); ++token) {
    if (encoding.ids[token] == mask) {
      positions.push_back(static_cast<std::int64_t>(token));
    }
  }
  return positions;
}

// The text with `id` at `position`. Other masks stay visible, so special tokens go only when there is one mask.
Json proposition(const text::HuggingFaceTokenizer& tokenizer, std::vector<std::int64_t> ids, std::int64_t position,
                 const Scored& scored, bool single) {
  ids[static_cast<std::size_t>(position)] = scored.index;
  if (const std::optional<std::int64_t> padding = tokenizer.special(text::SpecialRole::kPadding)) {
    std::erase(ids, *padding);
  }
  return {{"score", scored.score},
          {"token", scored.index},
          {"token_str", tokenizer.display({scored.index}, false)},
          {"sequence", tokenizer.display(ids, single)}};
}

// Rows [masks, vocabulary] of scores to lists of propositions.
Json propositions(const TaskModel& task, const text::Encoding& encoding, const std::vector<std::int64_t>& positions,
                  const at::Tensor& logits, std::int64_t top_k, std::span<const std::int64_t> targets) {
  // Rows of the embedding without a token (vocabularies are rounded up) cannot be said, and are no candidates.
  const std::int64_t sayable = task.tokenizer->vocabulary_size();
  Json lists = Json::array();
  for (std::size_t mask = 0; mask < positions.size(); ++mask) {
    const at::Tensor row = logits.select(0, static_cast<std::int64_t>(mask)).contiguous();
    Json list = Json::array();
    for (const Scored& scored : best_tokens(numbers(row), {top_k, sayable, targets})) {
      list.push_back(proposition(*task.tokenizer, encoding.ids, positions[mask], scored, positions.size() == 1));
    }
    lists.push_back(std::move(list));
  }
  return lists;
}

}  // namespace

std::vector<TaskResult> fill_masks(TaskModel& task, std::span<const Document> documents,
                                   const FillMaskOptions& options) {
  const std::int64_t mask = mask_id(task);
  const std::vector<std::int64_t> targets = target_ids(*task.tokenizer, options.targets);
  EncodedBatch encoded(task, documents, whole_texts(task, options.run));
  std::vector<TaskResult> results(documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) {
    require(!mask_positions(encoded[i].windows.front(), mask).empty(), documents[i].name, ": has no mask; ",
            quote(task.tokenizer->token(mask)), " stands for a word to be found");
  }
  encoded.run(task, options.run.batch, true, [&](const EncodedBatch::Place& place, const WindowOutput& output) {
    const text::Encoding& encoding = encoded.encoding(place);
    const std::vector<std::int64_t> positions = mask_positions(encoding, mask);
    const at::Tensor rows = output.hidden.index_select(0, at::tensor(positions, at::kLong)).to(task.dtype);
    const at::Tensor logits = task.model->vocabulary_logits(rows).to(at::kFloat);
    Json lists = propositions(task, encoding, positions, logits, options.top_k, targets);
    results[place.document].result = lists.size() == 1 ? Json(lists[0]) : std::move(lists);
  });
  for (std::size_t i = 0; i < documents.size(); ++i) {
    results[i].metadata = encoded.metadata(i);
  }
  return results;
}

}  // namespace weft::tasks
