// SPDX-License-Identifier: Apache-2.0
// A CPU goes over a few rows at a time, which stay in its caches; a GPU over whole chunks in few passes.
#include "weft/layers/cross_entropy/score_chunk.h"

#include <ATen/Parallel.h>
#include <ATen/ThreadLocalState.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/neg.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "weft/attention/accumulation.h"
#include "weft/attention/backends/list.h"
#include "weft/layers/host/row_kernels.h"
#include "weft/layers/precision.h"

namespace weft::layers {
namespace {

constexpr std::int64_t kScoresOfAChunk = std::int64_t{1} << 22;  // 16 MB of float32
// The gradient of the head's weight is read and written once a chunk: of fewer rows, the products would wait for it.
constexpr std::int64_t kSmallestChunk = 256;
// Of so many rows a CPU multiplies the gradient of a head's weight at full speed (187 GFLOP/s on a Zen 4 core, of 256
// rows 137), as long as their scores have no more bytes than the gradient of a large vocabulary's weight takes anyway.
constexpr std::int64_t kFastChunk = 1024;
constexpr std::int64_t kBytesOfFastChunk = 80'000'000;
// Of a GPU, whose memory is the limit and whose host launches every pass: 268 MB of float32, three or four chunks of
// 4,096 rows of 50,000 ids.
constexpr std::int64_t kScoresOfADeviceChunk = std::int64_t{1} << 26;
// Rows whose scores a thread takes through softmax and loss at once, so that they stay in its second-level cache.
constexpr std::int64_t kScoresOfAPass = std::int64_t{1} << 16;

/// `weight` in operand form. A GPU multiplies rows of 16-bit numbers slowly that do not begin at 16 bytes, as the
/// scores of 50,265 ids do not: there rows of zeros follow to a multiple of 8.
at::Tensor aligned(const at::Tensor& weight, at::ScalarType dtype) {
  constexpr std::int64_t kAligned = 8;
  const std::int64_t rows = weight.size(0);
  const std::int64_t missing = (kAligned - rows % kAligned) % kAligned;
  const bool is_short = dtype == at::kBFloat16 || dtype == at::kHalf;
  if (missing == 0 || !is_short || works_in_parts(weight)) {
    return operand(weight, dtype);
  }
  const at::Tensor result = at::empty({rows + missing, weight.size(1)}, weight.options().dtype(dtype));
  result.narrow(0, 0, rows).copy_(weight);
  result.narrow(0, rows, missing).zero_();
  return result;
}

/// The bias of `rows` scores, so that passes over them need not tell rows of zeros from ids; undefined where there is
/// neither a bias nor such a row.
at::Tensor wide_bias(const at::Tensor& bias, std::int64_t ids, std::int64_t rows, const at::TensorOptions& options) {
  if (rows == ids) {
    return bias;
  }
  const at::Tensor wide = at::full({rows}, -std::numeric_limits<double>::infinity(), options);
  const at::Tensor own = wide.narrow(0, 0, ids);
  if (bias.defined()) {
    own.copy_(bias);
  } else {
    own.zero_();
  }
  return wide;
}

}  // namespace

bool works_in_parts(const at::Tensor& tensor) { return attention::traits_of(tensor.device().type()).works_in_parts; }

ScoreChunk ScoreChunk::part(std::int64_t begin, std::int64_t count) const {
  return {hidden.narrow(0, begin, count), scores.narrow(0, begin, count), aligned.narrow(0, begin, count),
          targets.narrow(0, begin, count), teacher.defined() ? teacher.narrow(0, begin, count) : teacher};
}

std::int64_t chunk_size(const at::Tensor& hidden, std::int64_t asked, std::int64_t vocabulary) {
  if (asked > 0) {
    return asked;
  }
  if (works_in_parts(hidden)) {
    return std::max(kSmallestChunk, kScoresOfAChunk / vocabulary);
  }
  const std::int64_t most = std::max(kSmallestChunk, kScoresOfADeviceChunk / vocabulary);
  const std::int64_t rows = std::max<std::int64_t>(hidden.size(0), 1);
  const std::int64_t chunks = (rows + most - 1) / most;
  return (rows + chunks - 1) / chunks;
}

std::int64_t training_chunk(std::int64_t asked, const at::Tensor& hidden, std::int64_t vocabulary) {
  const std::int64_t usual = chunk_size(hidden, asked, vocabulary);
  if (asked > 0 || !works_in_parts(hidden)) {
    return usual;
  }
  const auto bytes = static_cast<std::int64_t>(c10::elementSize(product_dtype(hidden)));
  return std::max(usual, std::min(kFastChunk, kBytesOfFastChunk / (bytes * vocabulary)));
}

LossHead prepare_head(const HeadWeights& given, const at::Tensor& hidden, at::ScalarType dtype) {
  const at::ScalarType sums = attention::accumulation_type(hidden);
  return {given.int8 ? given.weight : aligned(given.weight, dtype),
          given.bias.defined() ? given.bias.to(sums) : given.bias,
          {},
          dtype,
          given.int8.get()};
}

LossHead with_wide_bias(LossHead head, std::int64_t ids, const at::TensorOptions& options) {
  head.wide = wide_bias(head.bias, ids, head.weight.size(0), options);
  return head;
}

ScoreChunk score_chunk(const at::Tensor& hidden, const LossHead& head, std::int64_t ids, const at::Tensor& labels) {
  ScoreChunk chunk{operand(hidden, head.dtype), {}, {}, labels.unsqueeze(1), {}};
  chunk.aligned =
      (head.int8 != nullptr ? head.int8->multiply(chunk.hidden, {}, {}) : at::mm(chunk.hidden, head.weight.t()))
          .to(head.dtype);
  chunk.scores = chunk.aligned.size(1) == ids ? chunk.aligned : chunk.aligned.narrow(1, 0, ids);
  return chunk;
}

at::Tensor logits_of(const ScoreChunk& chunk, const LossHead& head, at::ScalarType sums) {
  at::Tensor logits = chunk.scores.to(sums);
  return head.bias.defined() ? logits.add_(head.bias) : logits;
}

namespace {

/// What a few rows have from their teacher, already times its share.
struct Taught {
  at::Tensor losses;     // [C, 1]: T^2 KL(teacher || student), both with logits / T
  at::Tensor gradients;  // [C, V], of the logits: T (student - teacher)
};

Taught taught(const at::Tensor& logits, const at::Tensor& teacher, const LossTargets& targets, bool gathers) {
  const double warmth = targets.temperature;
  const at::Tensor told = at::log_softmax(teacher.to(logits.scalar_type()).div(warmth), 1);
  at::Tensor own = at::log_softmax(logits.div(warmth), 1);
  const at::Tensor probabilities = told.exp();
  Taught result{told.sub(own).mul_(probabilities).sum(1, true).mul_(targets.soft * warmth * warmth), {}};
  if (gathers) {
    result.gradients = own.exp_().sub_(probabilities).mul_(targets.soft * warmth);
  }
  return result;
}

/// The losses of a few rows into `losses` [C, 1]; with `gathers` their scores become (softmax - target) * scale, or
/// with a teacher that and its part in their shares.
void finish_rows(const ScoreChunk& chunk, const LossHead& head, const LossTargets& targets, at::Tensor losses,
                 bool gathers) {
  at::Tensor logits = logits_of(chunk, head, losses.scalar_type());
  // First: the logits turn into gradients below.
  const Taught soft = chunk.teacher.defined() ? taught(logits, chunk.teacher, targets, gathers) : Taught{};
  const at::Tensor log_sum = logits.logsumexp(1, true);
  const at::Tensor scores = logits.gather(1, chunk.targets);
  losses.copy_(log_sum.sub(targets.smoothing == 0.0 ? scores : scores.lerp(logits.mean(1, true), targets.smoothing)));
  if (soft.losses.defined()) {
    losses.mul_(1.0 - targets.soft).add_(soft.losses);
  }
  if (!gathers) {
    return;
  }
  // d loss / d logits = (softmax - target) / count.
  logits.sub_(log_sum).exp_();
  logits.scatter_add_(1, chunk.targets, at::full_like(chunk.targets, targets.smoothing - 1, logits.options()));
  if (targets.smoothing > 0) {
    logits.sub_(targets.smoothing / static_cast<double>(logits.size(1)));
  }
  if (soft.gradients.defined()) {
    logits.mul_(1.0 - targets.soft).add_(soft.gradients);
  }
  at::Tensor result = chunk.scores;
  result.copy_(logits.mul_(targets.scale));
}

/// finish_rows() of labels alone, for a device whose memory is the limit: each pass over [C, V] reads and writes it
/// once, none is there for the sake of a cache, and none leaves out the columns of zeros, since rows of an odd number
/// of scores are read one by one. The gradients are not times the scale yet: they have as many bits without it.
void finish_in_few_passes(const ScoreChunk& chunk, const LossHead& head, at::Tensor losses, bool gathers) {
  const at::ScalarType sums = losses.scalar_type();
  const at::Tensor own = at::log_softmax(head.wide.defined() ? chunk.aligned.add(head.wide) : chunk.aligned.to(sums),
                                         1);  // widened on the way
  at::Tensor of_labels = own.gather(1, chunk.targets);
  at::neg_out(losses, of_labels);
  if (!gathers) {
    return;
  }
  at::Tensor result = chunk.aligned;
  at::exp_out(result, own);
  result.scatter_(1, chunk.targets, of_labels.expm1_().to(result.scalar_type()));  // the probability less one
}

}  // namespace

bool takes_few_passes(const at::Tensor& hidden, double smoothing, bool has_teacher, bool is_int8) {
  return !works_in_parts(hidden) && smoothing == 0.0 && !has_teacher && !is_int8;
}

at::Tensor finish_chunk(const ScoreChunk& chunk, const LossHead& head, const LossTargets& targets, at::ScalarType sums,
                        bool gathers) {
  const at::Tensor losses = at::empty(chunk.targets.sizes(), chunk.scores.options().dtype(sums));
  if (!chunk.teacher.defined() && sums == at::kFloat && takes_row_losses(chunk.scores, head.bias)) {
    row_losses(chunk.scores, head.bias, chunk.targets, {targets.smoothing, targets.scale, gathers}, losses);
    return losses;
  }
  const std::int64_t few = std::max<std::int64_t>(1, kScoresOfAPass / chunk.scores.size(1));
  if (takes_few_passes(losses, targets.smoothing, chunk.teacher.defined(), head.int8 != nullptr)) {
    const at::NoGradGuard without_gradients;
    finish_in_few_passes(chunk, head, losses, gathers);
    return losses;
  }
  const bool in_parts = works_in_parts(losses);
  const std::int64_t step = in_parts ? few : chunk.rows();
  const at::ThreadLocalState modes;
  at::parallel_for(0, chunk.rows(), step, [&](std::int64_t first, std::int64_t last) {
    // A thread of the pool begins with modes of its own: it could not write to what was made in inference mode.
    const at::ThreadLocalStateGuard as_the_caller(modes);
    const at::NoGradGuard without_gradients;
    for (std::int64_t begin = first; begin < last; begin += step) {
      const std::int64_t count = std::min(step, last - begin);
      finish_rows(chunk.part(begin, count), head, targets, losses.narrow(0, begin, count), gathers);
    }
  });
  return losses;
}

}  // namespace weft::layers
