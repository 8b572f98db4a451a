// SPDX-License-Identifier: Apache-2.0
// A question names what the page shows; the request that it becomes says what is computed.
#include "weft/viewer/drawn_view.h"

#include <algorithm>
#include <utility>

#include "weft/core/error.h"
#include "weft/viewer/cell_codes.h"
#include "weft/viewer/page.h"

namespace weft::viewer {
namespace {

using attention::PictureRequest;
using formats::Json;

struct Sizes {
  std::int64_t queries;
  std::int64_t keys;
};

Sizes sizes_of(const ServedView& served, const tasks::ViewedPart& part) {
  const auto length = [&](bool target) {
    return static_cast<std::int64_t>((target ? served.view.target : served.view.source).tokens.size());
  };
  return {length(part.from_target), length(part.to_target)};
}

std::int64_t cells_in(std::int64_t length, std::int64_t cell) { return (length + cell - 1) / cell; }

const tasks::ViewedPart& part_of_view(const ServedView& served, std::int64_t part, std::int64_t head) {
  require(part < std::ssize(served.view.parts), "'part' must be below ", served.view.parts.size(), ", found ", part);
  const tasks::ViewedPart& found = served.view.parts[static_cast<std::size_t>(part)];
  require(head < std::ssize(found.heads), "'head' must be below ", found.heads.size(), " for part ", part, ", found ",
          head);
  return found;
}

// A part's whole head, without rows.
template <typename Question>
PictureRequest request_of(const ServedView& served, const Question& question) {
  const tasks::ViewedPart& part = part_of_view(served, question.part, question.head);
  const auto [queries, keys] = sizes_of(served, part);
  return {.head = part.heads[static_cast<std::size_t>(question.head)].number,
          .cell = part.cell,
          .query_end = queries,
          .keys = keys,
          .key_end = keys};
}

attention::HeadPicture draw(const ServedView& served, std::int64_t part, const PictureRequest& request) {
  return served.kept->draw(static_cast<std::size_t>(part), request);
}

// Draws the heads that nobody has looked at yet.
attention::HeadPicture rollout_picture(const ServedView& served, std::int64_t top) {
  const auto missing = [&] {
    const std::lock_guard<std::mutex> lock(served.rollout->mutex);
    return served.rollout->sums.missing();
  };
  for (const tasks::RolloutSums::HeadPlace& head : missing()) {
    head_of(served, {static_cast<std::int64_t>(head.first), static_cast<std::int64_t>(head.second), false});
  }
  const std::lock_guard<std::mutex> lock(served.rollout->mutex);
  return served.rollout->sums.picture(std::ssize(served.view.source.tokens), top);
}

// The keys of a row that a picture lists in its line `line`.
Json row_json(const attention::HeadPicture& picture, std::int64_t line) {
  Json keys = Json::array();
  Json weights = Json::array();
  for (std::int64_t place = 0; place < picture.top_key.size(1); ++place) {
    if (const auto key = picture.top_key[line][place].item<std::int64_t>(); key >= 0) {
      keys.push_back(key);
      weights.push_back(picture.top_weight[line][place].item<float>());
    }
  }
  return {{"keys", std::move(keys)}, {"weights", std::move(weights)}};
}

}  // namespace

void add_rollout(ServedView& served) {
  if (std::optional<tasks::RolloutSums> sums = tasks::RolloutSums::of(served.view.parts)) {
    served.rollout = std::make_shared<SharedRollout>();
    served.view.parts.push_back(sums->part());
    served.rollout->sums = std::move(*sums);
  }
}

bool is_rollout(const ServedView& served, std::int64_t part) {
  return served.rollout != nullptr && part + 1 == std::ssize(served.view.parts);
}

void check_head(const ServedView& served, std::int64_t part, std::int64_t head) { part_of_view(served, part, head); }

Json head_of(const ServedView& served, const HeadQuestion& question) {
  PictureRequest request = request_of(served, question);
  request.top = question.rows ? served.top : 0;
  const attention::HeadPicture picture =
      is_rollout(served, question.part) ? rollout_picture(served, request.top) : draw(served, question.part, request);
  if (served.rollout) {
    const std::lock_guard<std::mutex> lock(served.rollout->mutex);
    served.rollout->sums.add({question.part, question.head}, picture);
  }
  return question.rows ? picture_json(picture) : head_json(picture);
}

Json tile_of(const ServedView& served, const TileQuestion& question) {
  PictureRequest request = request_of(served, question);
  const std::int64_t cell = question.cell;
  require(!is_rollout(served, question.part), "'part' ", question.part, " is rollout, which has no smaller cells");
  require(cell <= request.cell && (cell & (cell - 1)) == 0, "'cell' must be a power of two of at most ", request.cell,
          ", found ", cell);
  require(question.row % cell == 0 && question.row < request.query_end, "'row' must be a multiple of ", cell, " below ",
          request.query_end, ", found ", question.row);
  require(question.column % cell == 0 && question.column < request.keys, "'column' must be a multiple of ", cell,
          " below ", request.keys, ", found ", question.column);
  request.cell = cell;
  request.query_begin = question.row;
  request.query_end = std::min(request.query_end, question.row + served.cells * cell);
  request.key_begin = question.column;
  request.key_end = std::min(request.keys, question.column + served.cells * cell);
  const attention::HeadPicture picture = draw(served, question.part, request);
  Json json = cells_json(picture);
  json.update({{"row", question.row},
               {"column", question.column},
               {"cell", cell},
               {"rows", picture.mean.size(0)},
               {"columns", picture.mean.size(1)}});
  return json;
}

Json row_of(const ServedView& served, const RowQuestion& question) {
  PictureRequest request = request_of(served, question);
  require(question.row < request.query_end, "'row' must be below ", request.query_end, ", found ", question.row);
  if (is_rollout(served, question.part)) {
    return row_json(rollout_picture(served, served.top), question.row);
  }
  request.cell = 1;
  request.query_begin = question.row;
  request.query_end = question.row + 1;
  request.top = served.top;
  return row_json(draw(served, question.part, request), 0);
}

Json view_json(const ServedView& served) {
  tasks::AttentionView unseen = served.view;  // texts, and the lines about parts without weights
  std::erase_if(unseen.parts, [](const tasks::ViewedPart& part) { return !part.heads.empty(); });
  Json data = attention_data(unseen);
  data["cells"] = served.cells;
  // Parts keep their numbers: those without heads are null.
  for (std::size_t number = 0; number < served.view.parts.size(); ++number) {
    const tasks::ViewedPart& part = served.view.parts[number];
    if (part.heads.empty()) {
      data["parts"].push_back(nullptr);
      continue;
    }
    const bool has_rows = part.cell == 1 || !is_rollout(served, static_cast<std::int64_t>(number));
    const auto [queries, keys] = sizes_of(served, part);
    Json heads = Json::array();
    for (const tasks::ViewedHead& head : part.heads) {
      heads.push_back({{"head", head.number}});
    }
    data["parts"].push_back({{"name", part.name},
                             {"expression", part.expression},
                             {"query_text", part.from_target ? "target" : "source"},
                             {"key_text", part.to_target ? "target" : "source"},
                             {"all_heads", part.all_heads},
                             {"cell", part.cell},
                             {"queries", queries},
                             {"keys", keys},
                             {"rows", cells_in(queries, part.cell)},
                             {"columns", cells_in(keys, part.cell)},
                             {"top", has_rows ? served.top : 0},
                             {"heads", std::move(heads)}});
  }
  return data;
}

}  // namespace weft::viewer
