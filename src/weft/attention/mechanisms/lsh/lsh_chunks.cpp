// SPDX-License-Identifier: Apache-2.0
// The rows of a round and some heads lie one behind the other on a tape, each head with the chunks before and behind
// it. A chunk's keys are then a window of the tape: a view with overlapping strides, which products read without a
// copy.
#include "weft/attention/mechanisms/lsh/lsh_chunks.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/attention/tensors.h"
#include "weft/core/error.h"
#include "weft/kernels/dropout.h"

namespace weft::attention {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kMostChunkScores = std::int64_t{1} << 20;  // of a piece: 4 MB in float32, which caches hold
constexpr std::int64_t kMostTape = std::int64_t{1} << 22;         // numbers on a tape, unless one head has more
constexpr double kNoScore = -1e30;                                // the largest score of a row that sees nothing

/// A call as rows of matrices, in the dtype of its sums.
struct ChunkOperands {
  explicit ChunkOperands(const ChunkedCall& given)
      : call(given),
        heads(given.rows.size(0) * given.rows.size(1)),
        rounds(given.order.size(2)),
        length(given.rows.size(2)),
        chunks(length / given.chunk),
        tape_chunks(chunks + given.left + given.right),
        window((given.left + 1 + given.right) * given.chunk),
        rows(flat(given.rows)),
        value(flat(given.value)),
        finite(all_finite({value})),
        finite_value(finite ? value : value.masked_fill(at::isfinite(value).logical_not(), 0.0)),
        order(by_head(given.order)),
        own(by_head(given.own)),
        code(by_head(given.code)),
        low(by_head(given.low)),
        high(by_head(given.high)) {}

  /// [B, H, N, C] -> [B H N, C].
  static at::Tensor flat(const at::Tensor& tensor) {
    return tensor.to(accumulation_type(tensor)).contiguous().view({-1, tensor.size(3)});
  }
  /// [B, H, R, N] -> [B H, R N], every round behind the one before.
  static at::Tensor by_head(const at::Tensor& tensor) {
    return tensor.defined() ? tensor.flatten(2, 3).flatten(0, 1) : tensor;
  }

  const ChunkedCall& call;
  std::int64_t heads;  // of all batch rows
  std::int64_t rounds;
  std::int64_t length;
  std::int64_t chunks;       // of a round
  std::int64_t tape_chunks;  // the same with those before and behind
  std::int64_t window;       // keys of a chunk
  at::Tensor rows;           // [B H N, D]
  at::Tensor value;          // [B H N, D_v]
  bool finite;
  at::Tensor finite_value;
  at::Tensor order;
  at::Tensor own;
  at::Tensor code;
  at::Tensor low;
  at::Tensor high;
};

/// One round of heads [first, first + count).
struct RoundSlice {
  std::int64_t first;
  std::int64_t count;
  std::int64_t round;
};

/// Its rows. Window t of T begins at chunk t of the tape and belongs to the queries of chunk t + left; those that
/// reach from one head into the next are computed too, and nobody reads them.
struct RoundTape {
  std::int64_t windows;
  at::Tensor index;  // int64 [tape], row of the matrices
  at::Tensor code;   // int32 [tape]
  at::Tensor own;    // int32 [T, m, 1]
  at::Tensor low;    // int32 [T, m, 1] or undefined
  at::Tensor high;   // int32 [T, m, 1] or undefined
  at::Tensor row;    // [tape, D]
  at::Tensor key;    // [tape, D]
  at::Tensor value;  // [tape, D_v]
  at::Tensor bad;    // [tape, D_v], 1 where the value is not finite; undefined where all are
};

/// Windows [first, first + count) of a tape.
struct WindowPiece {
  std::int64_t first;
  std::int64_t count;
};

/// From the gradients of the keys to those of the rows x: k = s x, s = (mean(x^2) + e)^(-1/2) / sqrt(D), so that
/// dx = s (dk - x (x . dk) s^2).
at::Tensor through_key(const at::Tensor& rows, const at::Tensor& gradient) {
  const at::Tensor factor = key_factor(rows);
  return (gradient - rows * ((rows * gradient).sum(-1, true) * factor.square())) * factor;
}

/// Rows of queries: those of the tape from chunk `left` on, as [T, m, C].
at::Tensor query_rows(const ChunkOperands& all, const at::Tensor& tape, std::int64_t windows) {
  const std::int64_t chunk = all.call.chunk;
  return tape.narrow(0, all.call.left * chunk, windows * chunk).view({windows, chunk, -1});
}

RoundTape tape_of(const ChunkOperands& all, const RoundSlice& slice) {
  const ChunkedCall& call = all.call;
  const std::int64_t before = call.left * call.chunk;
  const std::int64_t places = all.tape_chunks * call.chunk;
  const auto options = all.order.options();
  const at::Tensor place =
      at::arange(slice.round * all.length - before, slice.round * all.length - before + places, options)
          .remainder_(all.rounds * all.length);
  const auto taken = [&](const at::Tensor& tensor) {
    return tensor.narrow(0, slice.first, slice.count).index_select(1, place);  // [count, places]
  };
  RoundTape tape;
  tape.windows = slice.count * all.tape_chunks - call.left - call.right;
  const at::Tensor head = at::arange(slice.first, slice.first + slice.count, options).unsqueeze(1);
  tape.index = (taken(all.order) + head * all.length).flatten();
  at::Tensor code = taken(all.code);
  if (!call.circular) {
    code.narrow(1, 0, before).fill_(-1);
    code.narrow(1, places - call.right * call.chunk, call.right * call.chunk)
        .fill_(std::numeric_limits<std::int32_t>::max());
  }
  tape.code = code.flatten();
  const auto of_queries = [&](const at::Tensor& tensor) {
    return tensor.defined() ? query_rows(all, taken(tensor).flatten(), tape.windows) : tensor;
  };
  tape.own = of_queries(all.own);
  tape.low = of_queries(all.low);
  tape.high = of_queries(all.high);
  tape.row = all.rows.index_select(0, tape.index);
  tape.key = tape.row * key_factor(tape.row);
  tape.value = all.finite_value.index_select(0, tape.index);
  if (!all.finite) {
    tape.bad = at::isfinite(all.value.index_select(0, tape.index)).logical_not().to(tape.value.scalar_type());
  }
  return tape;
}

/// [tape, C] -> a view [count, window, C].
at::Tensor windows_of(const ChunkOperands& all, const at::Tensor& tape, const WindowPiece& piece) {
  const std::int64_t columns = tape.size(1);
  const std::int64_t chunk = all.call.chunk * columns;
  return tape.as_strided({piece.count, all.window, columns}, {chunk, columns, 1}, piece.first * chunk);
}

struct WindowScores {
  at::Tensor scores;  // [count, m, window], minus infinity where a row does not see a key
  at::Tensor self;    // bool, the pairs of a row with itself
};

WindowScores window_scores(const ChunkOperands& all, const RoundTape& tape, const WindowPiece& piece) {
  const auto part = [&](const at::Tensor& rows) { return rows.narrow(0, piece.first, piece.count); };
  const at::Tensor query = part(query_rows(all, tape.row, tape.windows));
  at::Tensor scores = at::bmm(query, windows_of(all, tape.key, piece).transpose(1, 2));
  const std::int64_t chunk = all.call.chunk;
  const at::Tensor code =
      tape.code.as_strided({piece.count, 1, all.window}, {chunk, all.window, 1}, piece.first * chunk);
  at::Tensor self = code.eq(part(tape.own));
  if (tape.high.defined()) {
    scores.masked_fill_(code.gt(part(tape.high)), -kInfinity);
  }
  if (tape.low.defined()) {
    scores.masked_fill_(code.lt(part(tape.low)), -kInfinity);
  }
  return {scores.masked_fill_(self, kSelfScore), self};
}

/// 0 or 1 / (1 - dropout) for each pair of a piece; undefined without dropout. A draw belongs to a place of a round and
/// a key of its window.
at::Tensor dropped_pairs(const ChunkOperands& all, const RoundSlice& slice, const WindowPiece& piece) {
  const ChunkedCall& call = all.call;
  if (call.dropout <= 0) {
    return {};
  }
  const kernels::Dropout dropout{static_cast<float>(call.dropout), call.seed};
  const std::int64_t of_head = all.tape_chunks * call.chunk;
  const std::int64_t heads = call.rows.size(1);
  at::Tensor mask = at::empty({piece.count, call.chunk, all.window}, at::kFloat);
  auto* const out = mask.mutable_data_ptr<float>();
  at::parallel_for(0, piece.count * call.chunk, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t place = piece.first * call.chunk + row;
      const std::int64_t head = slice.first + place / of_head;
      kernels::DropoutRow draws(dropout, head / heads, head % heads * all.rounds + slice.round, place % of_head);
      for (std::int64_t key = 0; key < all.window; ++key) {
        out[row * all.window + key] = static_cast<float>(draws.multiplier(key));
      }
    }
  });
  return mask.to(all.rows.device(), all.rows.scalar_type());
}

/// The row of a tape's windows that has each position, int64 [count N].
at::Tensor row_of_position(const ChunkOperands& all, const RoundSlice& slice) {
  const at::Tensor order =
      all.order.narrow(0, slice.first, slice.count).narrow(1, slice.round * all.length, all.length);
  const at::Tensor places = at::arange(all.length, order.options()).unsqueeze(0).expand_as(order);
  const at::Tensor head = at::arange(slice.count, order.options()).unsqueeze(1);
  return at::empty_like(order).scatter_(1, order, places).add_(head * (all.tape_chunks * all.call.chunk)).flatten();
}

template <typename Each>
void each_slice(const ChunkOperands& all, const Each& each) {
  const std::int64_t columns = std::max(all.rows.size(1), all.value.size(1));
  const std::int64_t step = std::max<std::int64_t>(kMostTape / (all.tape_chunks * all.call.chunk * columns), 1);
  for (std::int64_t first = 0; first < all.heads; first += step) {
    for (std::int64_t round = 0; round < all.rounds; ++round) {
      each(RoundSlice{first, std::min(step, all.heads - first), round});
    }
  }
}

template <typename Each>
void each_window_piece(const ChunkOperands& all, const RoundTape& tape, const Each& each) {
  const std::int64_t step = std::max<std::int64_t>(kMostChunkScores / (all.call.chunk * all.window), 1);
  for (std::int64_t first = 0; first < tape.windows; first += step) {
    each(WindowPiece{first, std::min(step, tape.windows - first)});
  }
}

/// A softmax that is not whole yet, over some of the keys: sum(exp(s - top) v), the largest score, sum(exp(s - top)).
struct PartialSoftmax {
  at::Tensor mixed;  // [rows, D_v]
  at::Tensor top;    // [rows, 1]
  at::Tensor total;  // [rows, 1]
};

PartialSoftmax nothing_seen(const ChunkOperands& all, std::int64_t rows) {
  const auto options = all.rows.options();
  return {at::zeros({rows, all.value.size(1)}, options), at::full({rows, 1}, kNoScore, options),
          at::zeros({rows, 1}, options)};
}

void add_piece(const ChunkOperands& all, const RoundTape& tape, const RoundSlice& slice, const WindowPiece& piece,
               const PartialSoftmax& softmax) {
  const auto put = [&](const at::Tensor& rows, const at::Tensor& result) {
    rows.narrow(0, piece.first * all.call.chunk, piece.count * all.call.chunk).copy_(result.flatten(0, 1));
  };
  at::Tensor weights = window_scores(all, tape, piece).scores;
  const at::Tensor top = weights.amax(-1, true).clamp_min_(kNoScore);
  weights.sub_(top).exp_();
  put(softmax.top, top);
  put(softmax.total, weights.sum(-1, true));
  if (const at::Tensor dropped = dropped_pairs(all, slice, piece); dropped.defined()) {
    weights.mul_(dropped);
  }
  at::Tensor mixed = at::bmm(weights, windows_of(all, tape.value, piece));
  if (tape.bad.defined()) {
    const at::Tensor reached = at::bmm(weights.ne(0).to(mixed.scalar_type()), windows_of(all, tape.bad, piece));
    mixed.masked_fill_(reached > 0, std::numeric_limits<double>::quiet_NaN());
  }
  put(softmax.mixed, mixed);
}

void merge_rounds(const PartialSoftmax& into, const PartialSoftmax& other) {
  const at::Tensor top = at::maximum(into.top, other.top);
  const at::Tensor old_factor = (into.top - top).exp_();
  const at::Tensor new_factor = (other.top - top).exp_();
  into.mixed.mul_(old_factor).add_(other.mixed * new_factor);
  into.total.mul_(old_factor).add_(other.total * new_factor);
  into.top.copy_(top);
}

/// Outputs [B H N, D_v] in `mixed`, with what the gradients need of the softmax.
PartialSoftmax chunked_outputs(const ChunkOperands& all) {
  PartialSoftmax sums = nothing_seen(all, all.heads * all.length);
  each_slice(all, [&](const RoundSlice& slice) {
    const RoundTape tape = tape_of(all, slice);
    const PartialSoftmax round = nothing_seen(all, tape.windows * all.call.chunk);
    each_window_piece(all, tape, [&](const WindowPiece& piece) { add_piece(all, tape, slice, piece, round); });
    const at::Tensor places = row_of_position(all, slice);
    const auto part = [&](const at::Tensor& rows) {
      return rows.narrow(0, slice.first * all.length, slice.count * all.length);
    };
    merge_rounds(
        {part(sums.mixed), part(sums.top), part(sums.total)},
        {round.mixed.index_select(0, places), round.top.index_select(0, places), round.total.index_select(0, places)});
  });
  sums.total.clamp_min_(std::numeric_limits<float>::min());  // of a row that sees nothing, whose sum is 0
  sums.mixed.div_(sums.total);
  return sums;
}

/// What the backward pass knows of each row, and the sums that it makes; all [B H N, columns].
struct ChunkGradients {
  at::Tensor output;  // gradient of the output
  at::Tensor delta;   // its product with the output: sum_j p_j dp_j over all rounds
  at::Tensor top;
  at::Tensor total;
  at::Tensor rows;
  at::Tensor value;
};

/// The same of the rows of a tape, or of its queries as [T, m, columns].
struct TapeGradients {
  at::Tensor output;
  at::Tensor delta;
  at::Tensor top;
  at::Tensor total;
  at::Tensor row;    // [tape, D]
  at::Tensor key;    // [tape, D]
  at::Tensor value;  // [tape, D_v]
};

/// Adds [count, window, C] to the rows of a tape that the windows are made of.
void add_to_windows(const ChunkOperands& all, const WindowPiece& piece, const at::Tensor& windows,
                    const at::Tensor& tape) {
  const std::int64_t chunk = all.call.chunk;
  for (std::int64_t part = 0; part * chunk < all.window; ++part) {
    tape.narrow(0, (piece.first + part) * chunk, piece.count * chunk)
        .view({piece.count, chunk, -1})
        .add_(windows.narrow(1, part * chunk, chunk));
  }
}

/// bool [T, 1, 1].
at::Tensor windows_between_heads(const ChunkOperands& all, const RoundTape& tape) {
  return at::arange(tape.windows, all.order.options()).remainder_(all.tape_chunks).ge(all.chunks).view({-1, 1, 1});
}

void backward_piece(const ChunkOperands& all, const RoundTape& tape, const RoundSlice& slice, const WindowPiece& piece,
                    const TapeGradients& sums) {
  const auto part = [&](const at::Tensor& rows) { return rows.narrow(0, piece.first, piece.count); };
  const WindowScores scores = window_scores(all, tape, piece);
  // p = exp(s - top) / total, over the keys of all rounds
  const at::Tensor weights = (scores.scores - part(sums.top)).exp_().div_(part(sums.total));
  const at::Tensor dropped = dropped_pairs(all, slice, piece);
  const at::Tensor output = part(sums.output);
  const at::Tensor shown = dropped.defined() ? weights * dropped : weights;
  add_to_windows(all, piece, at::bmm(shown.transpose(1, 2), output), sums.value);
  at::Tensor gradient = at::bmm(output, windows_of(all, tape.value, piece).transpose(1, 2));
  if (dropped.defined()) {
    gradient.mul_(dropped);
  }
  // ds = p (dp - sum_j p_j dp_j); the score of a row with itself is a constant
  gradient.sub_(part(sums.delta)).mul_(weights).masked_fill_(scores.self, 0.0);
  part(query_rows(all, sums.row, tape.windows)).add_(at::bmm(gradient, windows_of(all, tape.key, piece)));
  add_to_windows(all, piece, at::bmm(gradient.transpose(1, 2), part(query_rows(all, tape.row, tape.windows))),
                 sums.key);
}

/// From the rows of a tape into the matrix `sums`: those of the round by position, those of its neighbours one by one.
void add_from_tape(const ChunkOperands& all, const RoundSlice& slice, const RoundTape& tape, const at::Tensor& rows,
                   const at::Tensor& sums) {
  const ChunkedCall& call = all.call;
  const at::Tensor places = row_of_position(all, slice) + call.left * call.chunk;
  sums.narrow(0, slice.first * all.length, slice.count * all.length).add_(rows.index_select(0, places));
  if (!call.circular) {
    return;
  }
  const std::int64_t behind = (call.left + all.chunks) * call.chunk;
  const auto by_head = [&](const at::Tensor& tensor) {
    return tensor.unflatten(0, {slice.count, all.tape_chunks * call.chunk});
  };
  for (const auto& [first, count] : {std::pair{std::int64_t{0}, call.left}, std::pair{behind, call.right}}) {
    if (count > 0) {
      sums.index_add_(0, by_head(tape.index).narrow(1, first, count * call.chunk).flatten(),
                      by_head(rows).narrow(1, first, count * call.chunk).flatten(0, 1));
    }
  }
}

void backward_slice(const ChunkOperands& all, const RoundSlice& slice, const ChunkGradients& sums) {
  const RoundTape tape = tape_of(all, slice);
  const at::Tensor index = query_rows(all, tape.index, tape.windows).flatten();
  const auto taken = [&](const at::Tensor& rows) {
    return rows.index_select(0, index).view({tape.windows, all.call.chunk, -1});
  };
  // Infinity makes the weights of windows that nobody reads 0.
  const at::Tensor top = taken(sums.top).masked_fill_(windows_between_heads(all, tape), kInfinity);
  const TapeGradients here{taken(sums.output),        taken(sums.delta),        top,
                           taken(sums.total),         at::zeros_like(tape.row), at::zeros_like(tape.key),
                           at::zeros_like(tape.value)};
  each_window_piece(all, tape, [&](const WindowPiece& piece) { backward_piece(all, tape, slice, piece, here); });
  add_from_tape(all, slice, tape, here.row.add_(through_key(tape.row, here.key)), sums.rows);
  add_from_tape(all, slice, tape, here.value, sums.value);
}

/// [B H N, C] -> [B, H, N, C] in the order of empty_heads().
at::Tensor by_heads(const at::Tensor& rows, const at::Tensor& like) {
  at::Tensor heads = empty_heads({like.size(0), like.size(1), like.size(2), rows.size(1)}, like.options());
  return heads.copy_(rows.view(heads.sizes()));
}

struct ChunkedFunction : torch::autograd::Function<ChunkedFunction> {
  /// `tensors` are those of the call, for autograd to find.
  static at::Tensor forward(AutogradContext* context, at::TensorList /*tensors*/, const ChunkedCall& call) {
    const PartialSoftmax sums = chunked_outputs(ChunkOperands(call));
    at::Tensor output = by_heads(sums.mixed, call.rows);
    context->save_for_backward(
        {call.rows, call.value, call.order, call.own, call.code, call.low, call.high, output, sums.top, sums.total});
    context->saved_data["numbers"] = std::vector<std::int64_t>{call.chunk, call.left, call.right, call.circular ? 1 : 0,
                                                               static_cast<std::int64_t>(call.seed)};
    context->saved_data["dropout"] = call.dropout;
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    if (at::GradMode::is_enabled()) {
      fail(ErrorKind::kUnsupported, "lsh attention has no second derivative: its backward pass is not differentiable");
    }
    const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
    const variable_list saved = context->get_saved_variables();
    const auto numbers = context->saved_data["numbers"].toIntVector();
    const ChunkedCall call{.rows = saved[0],
                           .value = saved[1],
                           .order = saved[2],
                           .own = saved[3],
                           .code = saved[4],
                           .low = saved[5],
                           .high = saved[6],
                           .chunk = numbers[0],
                           .left = numbers[1],
                           .right = numbers[2],
                           .circular = numbers[3] == 1,
                           .dropout = context->saved_data["dropout"].toDouble(),
                           .seed = static_cast<std::uint64_t>(numbers[4])};
    const ChunkOperands all(call);
    const at::Tensor output = ChunkOperands::flat(gradients[0]);
    const ChunkGradients sums{output,
                              (output * ChunkOperands::flat(saved[7])).sum(-1, true),
                              saved[8],
                              saved[9],
                              at::zeros_like(all.rows),
                              at::zeros_like(all.value)};
    each_slice(all, [&](const RoundSlice& slice) { backward_slice(all, slice, sums); });
    return {by_heads(sums.rows, call.rows), by_heads(sums.value, call.value), at::Tensor()};
  }
};

}  // namespace

at::Tensor key_factor(const at::Tensor& rows) {
  constexpr double kEpsilon = 1e-6;
  return at::rsqrt(rows.square().mean(-1, true) + kEpsilon) / std::sqrt(static_cast<double>(rows.size(-1)));
}

at::Tensor chunked_attention(const ChunkedCall& call) {
  require(call.rows.size(2) % call.chunk == 0, "lsh attention: ", call.rows.size(2), " rows are not whole chunks of ",
          call.chunk);
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  const std::initializer_list<at::Tensor> tensors = {call.rows, call.value};
  if (any_is_followed(tensors)) {
    return ChunkedFunction::apply(at::TensorList(tensors), call);  // a list of another type would be no tensors to it
  }
  const at::NoGradGuard without_gradients;
  return by_heads(chunked_outputs(ChunkOperands(call)).mixed, call.rows);
}

}  // namespace weft::attention
