// SPDX-License-Identifier: Apache-2.0
// The masks of a window, the scores there, and the texts with each token put in.
#include "weft/tasks/fill_mask.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "weft/attention/devices/brought_home.h"
#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/work/pieces.h"
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
    require(!pieces.empty(), "the target ", Quoted(target), " has no token in the vocabulary");
    log_warning("the target ", quote(target), " is not one token of the vocabulary: Weft scores its first token, ",
                quote(tokenizer.token(pieces.front())));
    ids.push_back(pieces.front());
  }
  return ids;
}

// A mask of a document: the window that answers for it, and its token there.
struct MaskPlace {
  std::int64_t byte = 0;  // in the text
  std::size_t window = 0;
  std::int64_t position = 0;
  std::int64_t around = 0;  // tokens of text on the side of it that has fewer
};

bool is_mask(const text::Encoding& encoding, std::size_t token, std::int64_t mask) {
  return encoding.ids[token] == mask && encoding.special_mask[token] == 0;
}

// Tokens of text before and behind `token` in its window.
std::int64_t tokens_around(const text::Encoding& window, std::size_t token) {
  const auto begin = window.special_mask.begin();
  const auto here = begin + static_cast<std::ptrdiff_t>(token);
  return std::min(std::count(begin, here, 0), std::count(here, window.special_mask.end(), 0) - 1);
}

// The masks of all windows in the order of the text, each in the window where it has the most around it.
std::vector<MaskPlace> mask_places(const EncodedDocument& document, std::int64_t mask) {
  std::map<std::pair<std::int64_t, std::int64_t>, MaskPlace> places;  // by text and byte
  for (std::size_t window = 0; window < document.windows.size(); ++window) {
    const text::Encoding& encoding = document.windows[window];
    for (std::size_t token = 0; token < encoding.ids.size(); ++token) {
      if (!is_mask(encoding, token, mask)) {
        continue;
      }
      const MaskPlace place = {encoding.byte_offsets[token].begin, window, static_cast<std::int64_t>(token),
                               tokens_around(encoding, token)};
      const auto [known, fresh] = places.emplace(std::pair(std::int64_t{encoding.sequences[token]}, place.byte), place);
      if (!fresh && place.around > known->second.around) {
        known->second = place;
      }
    }
  }
  std::vector<MaskPlace> result;
  result.reserve(places.size());
  std::transform(places.begin(), places.end(), std::back_inserter(result),
                 [](const auto& entry) { return entry.second; });
  return result;
}

// Masks of the whole text, also where the model reads less of it.
std::int64_t masks_of_text(const TaskModel& task, const Document& document, std::int64_t mask) {
  std::vector<text::Encoding> windows = document.second
                                            ? task.tokenizer->encode_windows(document.first, *document.second)
                                            : task.tokenizer->encode_windows(document.first);
  const text::Encoding whole = std::move(windows.front());
  std::int64_t count = 0;
  for (std::size_t token = 0; token < whole.ids.size(); ++token) {
    count += is_mask(whole, token, mask) ? 1 : 0;
  }
  return count;
}

// Says what truncation did to the masks: none left is an error, fewer left a warning.
void check_masks(const TaskModel& task, const Document& document, const EncodedDocument& encoded, std::int64_t mask,
                 std::size_t found) {
  const std::int64_t all =
      encoded.left_out > 0 ? masks_of_text(task, document, mask) : static_cast<std::int64_t>(found);
  require(all > 0, document.name, ": has no mask; write ", Quoted(task.tokenizer->token(mask)),
          " in place of the word to predict");
  const std::int64_t cut = all - static_cast<std::int64_t>(found);
  if (found == 0) {
    throw Error(ErrorKind::kArgument,
                concat(document.name, ": its ", all == 1 ? "mask was" : concat(all, " masks were"),
                       " cut off: ", option("truncate"), " kept ", encoded.windows.front().ids.size(), " of ",
                       encoded.tokens, " tokens"),
                concat("without ", option("truncate"), " the text is read in windows"));
  }
  if (cut > 0) {
    log_warning(document.name, ": ", cut, " of ", all, " masks were cut off");
  }
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

// The tokens for one mask, from its row of scores.
Json propositions(const TaskModel& task, const text::Encoding& encoding, const MaskPlace& place, const at::Tensor& row,
                  const TokenChoice& choice, bool single) {
  constexpr std::size_t kInAPiece = 16;
  Json list = Json::array();
  for (const Scored& scored : best_tokens(numbers(row), choice)) {
    if (list.size() % kInAPiece == 0) {
      end_piece();
    }
    list.push_back(proposition(*task.tokenizer, encoding.ids, place.position, scored, single));
  }
  return list;
}

// The masks that window `window` answers for, as numbers in the list of its document.
std::vector<std::size_t> masks_in(const std::vector<MaskPlace>& masks, std::size_t window) {
  std::vector<std::size_t> numbers;
  for (std::size_t number = 0; number < masks.size(); ++number) {
    if (masks[number].window == window) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

// Scores over the vocabulary [masks, vocabulary] at some masks of one window.
at::Tensor scores_at(TaskModel& task, const at::Tensor& hidden, const std::vector<MaskPlace>& masks,
                     const std::vector<std::size_t>& wanted) {
  std::vector<std::int64_t> positions;
  positions.reserve(wanted.size());
  for (const std::size_t number : wanted) {
    positions.push_back(masks[number].position);
  }
  const at::Tensor rows = hidden.index_select(0, at::tensor(positions, at::kLong)).to(task.dtype);
  return attention::brought_home(task.model->vocabulary_logits(rows), at::kFloat);
}

}  // namespace

std::vector<TaskResult> fill_masks(TaskModel& task, std::span<const Document> documents,
                                   const FillMaskOptions& options) {
  const std::int64_t mask = mask_id(task);
  const std::vector<std::int64_t> targets = target_ids(*task.tokenizer, options.targets);
  EncodedBatch encoded(task, documents, windowed_texts(task, options.run, text::Truncation::kOnlyFirst));
  std::vector<std::vector<MaskPlace>> masks(documents.size());
  std::vector<std::vector<Json>> lists(documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) {
    masks[i] = mask_places(encoded[i], mask);
    check_masks(task, documents[i], encoded[i], mask, masks[i].size());
    lists[i].resize(masks[i].size());
  }
  // Rows of the embedding without a token (vocabularies are rounded up) cannot be said, and are no candidates.
  const TokenChoice choice = {options.top_k, task.tokenizer->vocabulary_size(), targets};
  const auto consume = [&](const EncodedBatch::Place& place, const WindowOutput& output) {
    const std::vector<MaskPlace>& own = masks[place.document];
    const std::vector<std::size_t> numbers = masks_in(own, place.window);
    const at::Tensor logits = scores_at(task, output.hidden, own, numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const at::Tensor row = logits.select(0, static_cast<std::int64_t>(i)).contiguous();
      lists[place.document][numbers[i]] =
          propositions(task, encoded.encoding(place), own[numbers[i]], row, choice, own.size() == 1);
    }
  };
  const auto has_masks = [&](const EncodedBatch::Place& place) {
    return !masks_in(masks[place.document], place.window).empty();
  };
  encoded.run(task, options.run.batch, true, consume, has_masks);
  std::vector<TaskResult> results(documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) {
    results[i].result = lists[i].size() == 1 ? std::move(lists[i].front()) : Json(std::move(lists[i]));
    results[i].metadata = encoded.metadata(i);
  }
  return results;
}

}  // namespace weft::tasks
