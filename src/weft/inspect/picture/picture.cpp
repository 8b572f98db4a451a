// SPDX-License-Identifier: Apache-2.0
// Making a picture: the grid, the panels (one for each distinct structure among the heads), the figures.
#include "weft/inspect/picture/picture.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/system/option_name.h"
#include "weft/core/work/pieces.h"
#include "weft/inspect/picture/cells.h"
#include "weft/inspect/survey/survey.h"
#include "weft/pattern/syntax.h"

namespace weft::inspect {
namespace {

constexpr double kCountedBlocks = 1 << 21;    // of a layout that is built to be drawn: about a second
constexpr double kCountedKeys = 1 << 24;      // draws and look-ups of such a layout
constexpr double kMostMasks = 1 << 18;        // distinct ones of such a layout: 134 MB
constexpr double kQuestions = 1 << 25;        // to the pattern where no layout is built: one or two seconds
constexpr std::int64_t kMostCells = 1 << 21;  // of all panels

/// The smallest side with at most `maximum` cells along `length` that divides 64 or is a multiple of it.
std::int64_t cell_side(std::int64_t length, std::int64_t maximum) {
  for (std::int64_t side = 1; side < kPictureTile; side *= 2) {
    if ((length + side - 1) / side <= maximum) {
      return side;
    }
  }
  const std::int64_t step = kPictureTile * maximum;
  return std::max<std::int64_t>(1, (length + step - 1) / step) * kPictureTile;
}

/// What of `zoom` lies below `length`, begun at a whole cell.
TokenRange clip(const TokenRange& zoom, std::int64_t length, std::int64_t cell) {
  const std::int64_t end = std::min(zoom.end, length);
  return {std::min(zoom.begin, end) / cell * cell, end};
}

Picture empty_picture(const pattern::Pattern& pattern, const PictureRequest& request) {
  const pattern::Site& site = request.site;
  const std::int64_t longest = std::max(site.query_length, site.key_length);
  require(request.maximum_cells >= 1, "a picture needs at least 1 cell a side, found ", request.maximum_cells);
  const TokenRange zoom = request.zoom.value_or(TokenRange{0, longest});
  require(0 <= zoom.begin && zoom.begin < zoom.end && zoom.begin < longest, "zoom ", zoom.begin, ":", zoom.end,
          " shows nothing of ", site.query_length, " queries and ", site.key_length, " keys");
  Picture picture;
  picture.expression = pattern.to_string();
  picture.query_length = site.query_length;
  picture.key_length = site.key_length;
  picture.query_offset = site.query_offset;
  picture.heads = site.heads;
  picture.cell = cell_side(std::min(zoom.end, longest) - zoom.begin, request.maximum_cells);
  picture.queries = clip(zoom, site.query_length, picture.cell);
  picture.keys = clip(zoom, site.key_length, picture.cell);
  picture.rows = (picture.queries.size() + picture.cell - 1) / picture.cell;
  picture.columns = (picture.keys.size() + picture.cell - 1) / picture.cell;
  return picture;
}

/// The kind that at least two of the three samples have, or the middle one's.
pattern::EdgeKind kind_of(const pattern::Pattern& pattern, const pattern::Site& site, const CellCount& cell) {
  const pattern::EdgeKind first = edge_kind(pattern, site, cell.first.query, cell.first.key);
  const pattern::EdgeKind last = edge_kind(pattern, site, cell.last.query, cell.last.key);
  return first == last ? first : edge_kind(pattern, site, cell.middle.query, cell.middle.key);
}

std::vector<PictureCell> coloured(const pattern::Pattern& pattern, const pattern::Site& site, const Picture& picture,
                                  const std::vector<CellCount>& counts) {
  std::vector<PictureCell> cells(counts.size());
  for (std::size_t index = 0; index < counts.size(); ++index) {
    if (counts[index].edges == 0) {
      continue;
    }
    const std::int64_t row = static_cast<std::int64_t>(index) / picture.columns;
    const std::int64_t column = static_cast<std::int64_t>(index) % picture.columns;
    const std::int64_t height = std::min(picture.cell, picture.queries.size() - row * picture.cell);
    const std::int64_t width = std::min(picture.cell, picture.keys.size() - column * picture.cell);
    cells[index].coverage = static_cast<double>(counts[index].edges) / static_cast<double>(height * width);
    cells[index].kind = kind_of(pattern, site, counts[index]);
  }
  return cells;
}

PictureFigures figures_of(const LayoutSurvey& survey) {
  PictureFigures figures;
  figures.edges = survey.layout.edges;
  figures.density = survey.layout.density;
  figures.full_blocks = survey.layout.full_blocks;
  figures.partial_blocks = survey.layout.partial_blocks;
  figures.possible_blocks = survey.possible_blocks;
  figures.edges_per_slot = survey.layout.edges_per_slot;
  figures.edges_error = survey.edges_error;
  figures.sampled = survey.sampled;
  return figures;
}

void add_figures(PictureFigures& figures, const pattern::BlockLayout& layout, std::int64_t group) {
  const auto first = static_cast<std::size_t>(group * layout.query_blocks());
  const auto last = first + static_cast<std::size_t>(layout.query_blocks());
  for (std::int64_t block = layout.row_begin[first]; block < layout.row_begin[last]; ++block) {
    const bool full = pattern::is_full(layout.kind[static_cast<std::size_t>(block)]);
    figures.full_blocks += full ? 1 : 0;
    figures.partial_blocks += full ? 0 : 1;
  }
  figures.possible_blocks += layout.query_blocks() * layout.key_blocks();
  figures.edges += layout.group_edges[static_cast<std::size_t>(group)];
}

void finish_figures(Picture& picture, std::int64_t shown_heads) {
  PictureFigures& figures = picture.figures;
  const double pairs = static_cast<double>(shown_heads) * static_cast<double>(picture.query_length) *
                       static_cast<double>(picture.key_length);
  const double slots =
      static_cast<double>((figures.full_blocks + figures.partial_blocks) * kPictureTile * kPictureTile);
  figures.density = pairs == 0 ? 0 : static_cast<double>(figures.edges) / pairs;
  figures.edges_per_slot = slots == 0 ? 0 : static_cast<double>(figures.edges) / slots;
}

/// Counts every edge.
void draw_exactly(Picture& picture, const pattern::Pattern& pattern, const pattern::Site& site) {
  const pattern::BlockLayout layout = compile(pattern, site, pattern::Tile{kPictureTile, kPictureTile});
  end_piece();
  std::int64_t shown = 0;
  for (PicturePanel& panel : picture.panels) {
    pattern::Site of_head = site;
    of_head.head = panel.heads.front();
    const std::int64_t group = layout.group[static_cast<std::size_t>(of_head.head)];
    panel.cells = coloured(pattern, of_head, picture, count_cells(layout, picture, group));
    for (std::size_t each = 0; each < panel.heads.size(); ++each) {
      add_figures(picture.figures, layout, group);
    }
    shown += std::ssize(panel.heads);
    end_piece();
  }
  finish_figures(picture, shown);
}

void draw_sampled(Picture& picture, const pattern::Pattern& pattern, const pattern::Site& site,
                  const LayoutSurvey& survey) {
  picture.figures = figures_of(survey);
  for (PicturePanel& panel : picture.panels) {
    pattern::Site of_head = site;
    of_head.head = panel.heads.front();
    const double cost = question_cost(pattern.root().resolved(pattern::Context(of_head)));
    panel.cells =
        sample_cells(pattern, of_head, picture, kQuestions / cost / static_cast<double>(picture.panels.size()));
    end_piece();
  }
}

}  // namespace

Picture make_picture(const pattern::Pattern& pattern, const PictureRequest& request) {
  const pattern::Site& site = request.site;
  pattern.check(site);
  Picture picture = empty_picture(pattern, request);
  for (std::vector<std::int64_t>& heads : equal_heads(pattern, site, request.head)) {
    picture.panels.push_back({std::move(heads), {}});
  }
  require(std::ssize(picture.panels) * picture.rows * picture.columns <= kMostCells, "the picture would have ",
          picture.panels.size(), " panels of ", picture.rows, " x ", picture.columns,
          " cells, one for each head that differs; draw one head with ", option("head"), " 0, or fewer heads with ",
          option("heads"));
  const LayoutSurvey survey = survey_layout(pattern, site, request.head);
  // The layout of one head has the blocks of all.
  const double heads = request.head ? static_cast<double>(site.heads) : 1;
  if (survey.blocks_stored * heads <= kCountedBlocks && survey.masks * heads <= kMostMasks &&
      survey.listed_keys * heads <= kCountedKeys) {
    draw_exactly(picture, pattern, site);
  } else {
    draw_sampled(picture, pattern, site, survey);
  }
  return picture;
}

}  // namespace weft::inspect
