// SPDX-License-Identifier: Apache-2.0
// The loops are in row_loops.cpp; exponentials are LibTorch's, which has vectors for every processor.
#include "weft/attention/profile/pooled_rows.h"

#include <algorithm>

#include "weft/attention/profile/row_loops.h"
#include "weft/attention/profile/whole_units.h"

namespace weft::attention {
namespace {

// A key of a row. In a heap the weakest is on top; of equals the last.
template <typename Number>
struct Listed {
  Number exponential;
  std::int64_t key;

  bool operator<(const Listed& other) const {
    return exponential > other.exponential || (exponential == other.exponential && key < other.key);
  }
};

}  // namespace

template <typename Number>
PooledRows<Number>::PooledRows(const PictureRequest& request, const ScoredCall& call, PictureSums& sums)
    : request_(request),
      call_(call),
      sums_(sums),
      tiles_(call, request.head),
      key_(static_cast<std::size_t>(request.drawn_end() - request.key_begin)) {}

template <typename Number>
bool PooledRows<Number>::add(std::int64_t query_block) {
  const std::vector<std::int64_t> queries = asked_queries(query_block);
  if (queries.empty()) {
    return true;
  }
  const at::Tensor scores = scores_of(query_block);
  const std::int64_t first = query_block * call_.layout->blocks().tile.query;
  std::int64_t open = -1;  // the row of cells that the columns are summed for
  bool is_finite = true;
  for (const std::int64_t query : queries) {
    const std::int64_t position = call_.positions[static_cast<std::size_t>(query)];
    const std::int64_t cell_row = (position - request_.query_begin) / request_.cell;
    if (open >= 0 && open != cell_row) {
      pool(open);
    }
    open = cell_row;
    is_finite = add_row(scores.defined() ? scores.select(0, query - first) : scores, position) && is_finite;
  }
  pool(open);
  return is_finite;
}

template <typename Number>
std::vector<std::int64_t> PooledRows<Number>::asked_queries(std::int64_t query_block) const {
  const pattern::BlockLayout& layout = call_.layout->blocks();
  const std::int64_t first = query_block * layout.tile.query;
  std::vector<std::int64_t> queries;
  for (std::int64_t query = first; query < std::min(first + layout.tile.query, layout.query_length); ++query) {
    const std::int64_t position = call_.positions[static_cast<std::size_t>(query)];
    if (position >= request_.query_begin && position < request_.query_end && is_kept(call_.query_keep, 0, query)) {
      queries.push_back(query);
    }
  }
  return queries;
}

template <typename Number>
at::Tensor PooledRows<Number>::scores_of(std::int64_t query_block) {
  const KeyRange keys = finds_scales() ? KeyRange{} : KeyRange{request_.key_begin, request_.drawn_end()};
  at::Tensor scores = tiles_.of(0, query_block, keys);
  find_parts();
  const auto columns = static_cast<std::size_t>(tiles_.columns());
  column_sums_.assign(columns, Number{0});
  column_most_.assign(columns, Number{0});
  column_edges_.assign(columns, 0);
  return scores;
}

template <typename Number>
void PooledRows<Number>::find_parts() {
  drawn_.clear();
  parts_.clear();
  for (const KeyRun& run : tiles_.runs()) {
    const std::int64_t begin = std::max(run.first, request_.key_begin);
    const std::int64_t end = std::min(run.first + run.keys, request_.drawn_end());
    if (begin >= end) {
      continue;
    }
    drawn_.push_back({begin, end - begin, run.column + begin - run.first});
    for (std::int64_t key = begin; key < end;) {
      const std::int64_t cell = (key - request_.key_begin) / request_.cell;
      const std::int64_t stop = std::min(end, request_.key_begin + (cell + 1) * request_.cell);
      parts_.push_back({run.column + key - run.first, stop - key, cell});
      key = stop;
    }
  }
}

// `line` [columns] becomes the exponentials of its scores; undefined where the block has no keys that are drawn.
template <typename Number>
bool PooledRows<Number>::add_row(const at::Tensor& line, std::int64_t position) {
  const auto cell_row = static_cast<std::size_t>((position - request_.query_begin) / request_.cell);
  bool is_finite = true;
  if (line.defined()) {
    auto* const numbers = line.mutable_data_ptr<Number>();
    const RowMeasure<Number> found = measure_row(numbers, tiles_.columns(), column_edges_.data());
    is_finite = found.is_finite;
    if (finds_scales()) {
      sums_.scales.largest[static_cast<std::size_t>(position)] = static_cast<float>(found.largest);
      sums_.scales.edges[static_cast<std::size_t>(position)] = found.edges;
    }
    if (is_finite && found.edges > 0) {
      const Number share = share_of(numbers, line, position);
      add_probabilities(numbers, tiles_.columns(), share, column_sums_.data(), column_most_.data());
      list_strongest(numbers, share, position);
    }
  }
  ++sums_.rows[cell_row];
  sums_.row_edges[cell_row] += scales().edges[static_cast<std::size_t>(position)];
  return is_finite;
}

// What exponentials are multiplied by; makes them of the scores.
template <typename Number>
Number PooledRows<Number>::share_of(Number* scores, const at::Tensor& line, std::int64_t position) {
  const auto place = static_cast<std::size_t>(position);
  subtract(scores, tiles_.columns(), static_cast<Number>(scales().largest[place]));
  line.exp_();
  if (finds_scales()) {
    sums_.scales.share[place] = static_cast<float>(1.0 / sum_of_columns(scores, tiles_.columns()));
  }
  return static_cast<Number>(scales().share[place]);
}

template <typename Number>
void PooledRows<Number>::list_strongest(const Number* exponentials, Number share, std::int64_t position) {
  const auto top = static_cast<std::size_t>(request_.top);
  std::vector<Listed<Number>> heap;
  Number least = 0;  // what a key must exceed to be listed
  for (std::size_t run = 0; top > 0 && run < drawn_.size(); ++run) {
    const Number* const numbers = exponentials + drawn_[run].column;
    for (std::int64_t key = next_above(numbers, 0, drawn_[run].keys, least); key < drawn_[run].keys;
         key = next_above(numbers, key + 1, drawn_[run].keys, least)) {
      if (heap.size() == top) {
        std::pop_heap(heap.begin(), heap.end());
        heap.pop_back();
      }
      heap.push_back({numbers[key], drawn_[run].first + key});
      std::push_heap(heap.begin(), heap.end());
      least = heap.size() == top ? heap.front().exponential : Number{0};
    }
  }
  std::sort_heap(heap.begin(), heap.end());
  std::size_t place = static_cast<std::size_t>(position - request_.query_begin) * top;
  for (const Listed<Number>& one : heap) {
    const auto weight = static_cast<float>(one.exponential * share);
    sums_.top_key[place] = weight > 0.0F ? one.key : -1;
    sums_.top_weight[place++] = weight;
  }
}

// Hands on what the columns of a row of cells were given, and begins anew.
template <typename Number>
void PooledRows<Number>::pool(std::int64_t cell_row) {
  for (const Part& part : parts_) {
    double mass = 0.0;
    Number largest = 0;
    std::int64_t edges = 0;
    for (std::int64_t column = part.column; column < part.column + part.keys; ++column) {
      const auto place = static_cast<std::size_t>(column);
      mass += static_cast<double>(column_sums_[place]);
      largest = std::max(largest, column_most_[place]);
      edges += column_edges_[place];
    }
    const auto cell = static_cast<std::size_t>(cell_row * sums_.columns + part.cell);
    sums_.mass[cell] += mass;
    sums_.largest[cell] = std::max(sums_.largest[cell], static_cast<float>(largest));
    sums_.edges[cell] += edges;
  }
  for (const KeyRun& run : drawn_) {
    for (std::int64_t key = 0; key < run.keys; ++key) {
      const auto given = static_cast<double>(column_sums_[static_cast<std::size_t>(run.column + key)]);
      key_[static_cast<std::size_t>(run.first - request_.key_begin + key)] += nearest_whole(given / kKeyUnit);
    }
  }
  std::fill(column_sums_.begin(), column_sums_.end(), Number{0});
  std::fill(column_most_.begin(), column_most_.end(), Number{0});
  std::fill(column_edges_.begin(), column_edges_.end(), 0);
}

template class PooledRows<float>;
template class PooledRows<double>;

}  // namespace weft::attention
