// SPDX-License-Identifier: Apache-2.0
// A head at a time, and in it a tile of queries: its scores, the softmax of its rows, and the sums. The rows are whole,
// so that no log-sum-exp of another path is needed and each row sums to 1.
#include "weft/attention/profile/attention_mass.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/exp.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "weft/attention/profile/row_sums.h"
#include "weft/attention/profile/tile_scores.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

constexpr std::int64_t kLongestProfile = std::int64_t{1} << 31;

// The rows of one head.
template <typename Number>
class HeadRows {
 public:
  HeadRows(const ScoredCall& call, profile::MassSums& sums, std::int64_t head, std::int64_t last)
      : call_(call), tiles_(call, head), sums_(sums, head, last, call.key.size(2)) {}

  // All rows of one member of the batch. False where a score is NaN or infinite.
  bool add(std::int64_t batch) {
    bool is_finite = true;
    for (std::int64_t block = 0; block < call_.layout->blocks().query_blocks(); ++block) {
      is_finite = add_tile(batch, block) && is_finite;
    }
    sums_.finish();
    return is_finite;
  }

 private:
  bool add_tile(std::int64_t batch, std::int64_t query_block) {
    at::Tensor scores = tiles_.of(batch, query_block);
    if (!scores.defined()) {
      return true;
    }
    const at::Tensor largest = at::amax(scores, {1}, true);
    scores.sub_(largest);
    const at::Tensor exponentials = scores.exp();
    const std::int64_t first = query_block * call_.layout->blocks().tile.query;
    bool is_finite = true;
    for (std::int64_t row = 0; row < scores.size(0); ++row) {
      const auto most = static_cast<double>(largest.const_data_ptr<Number>()[row]);
      if (!is_kept(call_.query_keep, batch, first + row) || most <= kLeastScore) {
        continue;
      }
      is_finite = is_finite && std::isfinite(most);
      const std::int64_t line = row * tiles_.columns();
      add_row(call_.positions[static_cast<std::size_t>(first + row)], exponentials.const_data_ptr<Number>() + line,
              scores.const_data_ptr<Number>() + line);
    }
    return is_finite;
  }

  void add_row(std::int64_t position, const Number* exponentials, const Number* scores) {
    sums_.begin_row(position);
    for (const KeyRun& run : tiles_.runs()) {
      sums_.measure(exponentials + run.column, scores + run.column, run.first, run.keys);
    }
    for (const KeyRun& run : tiles_.runs()) {
      sums_.add(exponentials + run.column, run.first, run.keys);
    }
    sums_.end_row();
  }

  const ScoredCall& call_;
  TileScores tiles_;
  RowSums<Number> sums_;
};

std::int64_t end_of(const ScoredCall& call) {
  return call.positions.empty() ? 0 : *std::max_element(call.positions.begin(), call.positions.end()) + 1;
}

void check_room(const ScoredCall& call, const profile::MassSums& sums) {
  const std::int64_t heads = sums.shape().heads;
  require(call.query.size(1) == heads, "profile: a call of ", call.query.size(1), " heads does not fit sums of ", heads,
          " heads");
  const std::int64_t rows = call.query.size(0) * call.query.size(2);
  require(call.layout->blocks().query_offset >= 0 && end_of(call) <= kLongestProfile && rows <= profile::kMostRows &&
              sums.rows_of(0) <= profile::kMostRows - rows,
          "profile: a head counts at most ", profile::kMostRows, " rows; profile fewer texts");
}

template <typename Number>
bool add_heads(profile::MassSums& sums, const ScoredCall& call) {
  std::atomic<bool> is_finite = true;
  // A head owns its sums: their order does not depend on the threads.
  at::parallel_for(0, sums.shape().heads, 1, [&](std::int64_t begin, std::int64_t end) {
    const at::NoGradGuard no_gradient_here;
    const c10::impl::ExcludeDispatchKeyGuard no_autocast_here(c10::autocast_dispatch_keyset);
    for (std::int64_t head = begin; head < end; ++head) {
      HeadRows<Number> rows(call, sums, head, end_of(call) - 1);
      for (std::int64_t batch = 0; batch < call.query.size(0); ++batch) {
        if (!rows.add(batch)) {
          is_finite = false;
        }
      }
    }
  });
  return is_finite;
}

}  // namespace

void add_mass(profile::MassSums& sums, const MassCall& call) {
  const at::NoGradGuard no_gradient;
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const ScoredCall scored = scored_call(call);
  check_room(scored, sums);
  if (call.query.numel() == 0 || call.key.numel() == 0) {
    return;
  }
  sums.grow(end_of(scored), call.key.size(2));
  const bool is_finite =
      scored.query.scalar_type() == at::kDouble ? add_heads<double>(sums, scored) : add_heads<float>(sums, scored);
  if (!is_finite) {
    fail(ErrorKind::kNumeric, "profile: a score is NaN or infinite; the model or its input holds such a number");
  }
}

}  // namespace weft::attention
