// SPDX-License-Identifier: Apache-2.0
// Threads take rows of cells one after the other: each owns what it draws, so that sums have one order.
#include "weft/attention/profile/head_picture.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <functional>
#include <mutex>
#include <vector>

#include "weft/core/error.h"

namespace weft::attention {
namespace {

using pattern::BlockRange;

bool follow_each_other(const std::vector<std::int64_t>& positions) {
  return std::adjacent_find(positions.begin(), positions.end(),
                            [](std::int64_t one, std::int64_t next) { return next != one + 1; }) == positions.end();
}

// Blocks of queries that the request asks for, in runs that have no row of cells in common.
std::vector<BlockRange> runs_of_blocks(const PictureRequest& request, const ScoredCall& call) {
  const pattern::BlockLayout& layout = call.layout->blocks();
  if (!follow_each_other(call.positions)) {
    return {{0, layout.query_blocks()}};
  }
  std::vector<BlockRange> runs;
  for (std::int64_t block = 0; block < layout.query_blocks(); ++block) {
    const std::int64_t first = call.positions[static_cast<std::size_t>(block * layout.tile.query)];
    if (first >= request.query_end || first + layout.tile.query <= request.query_begin) {
      continue;
    }
    if (runs.empty() || (first - request.query_begin) % request.cell == 0) {
      runs.push_back({block, block});
    }
    runs.back().end = block + 1;
  }
  return runs;
}

template <typename Number>
bool draw(const PictureRequest& request, const ScoredCall& call, PictureSums& sums) {
  const std::vector<BlockRange> runs = runs_of_blocks(request, call);
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> is_finite = true;
  std::mutex keys;
  const std::int64_t workers = std::min<std::int64_t>(at::get_num_threads(), std::ssize(runs));
  at::parallel_for(0, workers, 1, [&](std::int64_t /*begin*/, std::int64_t /*end*/) {
    const at::NoGradGuard no_gradient_here;
    const c10::impl::ExcludeDispatchKeyGuard no_autocast_here(c10::autocast_dispatch_keyset);
    PooledRows<Number> rows(request, call, sums);
    for (std::size_t run = next++; run < runs.size(); run = next++) {
      for (std::int64_t block = runs[run].begin; block < runs[run].end; ++block) {
        if (!rows.add(block)) {
          is_finite = false;
        }
      }
    }
    const std::lock_guard<std::mutex> lock(keys);
    std::transform(sums.key.begin(), sums.key.end(), rows.key().begin(), sums.key.begin(), std::plus<>());
  });
  return is_finite;
}

}  // namespace

PictureOfHead::PictureOfHead(const PictureRequest& request) : request_(request) {
  require(request.cell >= 1 && std::has_single_bit(static_cast<std::uint64_t>(request.cell)),
          "attention: a cell must be a power of two, found ", request.cell);
  require(request.head >= 0 && request.query_begin >= 0 && request.query_begin % request.cell == 0 &&
              request.query_begin < request.query_end && request.keys >= 1 && request.top >= 0,
          "attention: a picture needs queries and keys, found queries ", request.query_begin, " to ", request.query_end,
          " in cells of ", request.cell, " and ", request.keys, " keys");
  require(request.key_begin >= 0 && request.key_begin % request.cell == 0 && request.key_begin < request.drawn_end() &&
              request.drawn_end() <= request.keys,
          "attention: a picture needs keys of the ", request.keys, " that there are, found ", request.key_begin, " to ",
          request.drawn_end(), " in cells of ", request.cell);
  const auto cells = [&](std::int64_t length) { return (length + request.cell - 1) / request.cell; };
  const std::int64_t rows = request.query_end - request.query_begin;
  const auto cell_rows = static_cast<std::size_t>(cells(rows));
  sums_.columns = cells(request.drawn_end() - request.key_begin);
  const std::size_t all = cell_rows * static_cast<std::size_t>(sums_.columns);
  sums_.mass.resize(all);
  sums_.largest.resize(all);
  sums_.edges.resize(all);
  sums_.row_edges.resize(cell_rows);
  sums_.rows.resize(cell_rows);
  sums_.top_key.resize(static_cast<std::size_t>(rows * request.top), -1);
  sums_.top_weight.resize(sums_.top_key.size());
  sums_.key.resize(static_cast<std::size_t>(request.drawn_end() - request.key_begin));
  const std::size_t known = request.scales == nullptr ? static_cast<std::size_t>(request.query_end) : 0;
  sums_.scales.largest.resize(known);
  sums_.scales.share.resize(known);
  sums_.scales.edges.resize(known);
  require(request.scales == nullptr || std::ssize(request.scales->edges) >= request.query_end,
          "attention: the scales of rows end before query ", request.query_end);
}

void PictureOfHead::add(const ScoredCall& call) {
  require(call.query.size(0) == 1 && request_.head < call.query.size(1) && call.key.size(2) <= request_.keys,
          "attention: head ", request_.head, " of one text with up to ", request_.keys,
          " keys is asked for; the call has queries ", call.query.sizes(), " and keys ", call.key.sizes());
  const bool is_finite = call.query.scalar_type() == at::kDouble ? draw<double>(request_, call, sums_)
                                                                 : draw<float>(request_, call, sums_);
  if (!is_finite) {
    fail(ErrorKind::kNumeric, "attention: a score is NaN or infinite; the model or its input holds such a number");
  }
}

HeadPicture PictureOfHead::finished() const {
  const std::int64_t cell_rows = std::ssize(sums_.rows);
  const auto cells = [&](const at::Tensor& numbers) { return numbers.view({cell_rows, sums_.columns}); };
  const std::int64_t rows = request_.query_end - request_.query_begin;
  HeadPicture picture;
  picture.edges = cells(at::tensor(sums_.edges));
  picture.mean = (cells(at::tensor(sums_.mass, at::kDouble)) / picture.edges.clamp_min(1)).to(at::kFloat);
  picture.largest = cells(at::tensor(sums_.largest));
  picture.visible = at::tensor(sums_.row_edges).to(at::kDouble) / at::tensor(sums_.rows).clamp_min(1);
  picture.top_key = at::tensor(sums_.top_key, at::kLong).view({rows, request_.top});
  picture.top_weight = at::tensor(sums_.top_weight, at::kFloat).view({rows, request_.top});
  picture.key = at::tensor(sums_.key).to(at::kDouble) * kKeyUnit;
  return picture;
}

std::int64_t cell_size(std::int64_t length, std::int64_t cells) {
  const std::int64_t needed = (std::max<std::int64_t>(length, 1) + cells - 1) / cells;
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(needed)));
}

}  // namespace weft::attention
