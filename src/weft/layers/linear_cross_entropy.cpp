// SPDX-License-Identifier: Apache-2.0
// Chunked cross entropy, of labels and of a teacher's scores, as a custom autograd function that computes its gradients
// in the forward pass.
#include "weft/layers/linear_cross_entropy.h"

#include <ATen/Parallel.h>
#include <ATen/ThreadLocalState.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <limits>

#include "weft/attention/backends/host_memory.h"
#include "weft/attention/backends/list.h"
#include "weft/attention/devices/placed.h"
#include "weft/core/error.h"
#include "weft/layers/host/row_kernels.h"
#include "weft/layers/precision.h"
#include "weft/layers/soft_targets.h"

namespace weft::layers {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

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

/// The head as operands of products, made once for all chunks.
struct Head {
  at::Tensor weight;  // [V, D], operand form; with rows of zeros behind them where aligned() says so
  at::Tensor bias;    // [V] in the dtype of the sums
  at::Tensor wide;    // wide_bias(), for passes that go over `aligned` scores
  at::ScalarType dtype;
  const Int8Weight* int8;  // in place of `weight`
};

struct Chunk {
  at::Tensor hidden;   // [C, D], operand form
  at::Tensor scores;   // [C, V], rounded as a linear layer rounds its result; without the bias
  at::Tensor aligned;  // their memory, with the columns of the zeros
  at::Tensor targets;  // [C, 1]
  at::Tensor teacher;  // [C, V], or undefined

  std::int64_t rows() const { return scores.size(0); }
  Chunk part(std::int64_t begin, std::int64_t count) const {
    return {hidden.narrow(0, begin, count), scores.narrow(0, begin, count), aligned.narrow(0, begin, count),
            targets.narrow(0, begin, count), teacher.defined() ? teacher.narrow(0, begin, count) : teacher};
  }
};

bool works_in_parts(const at::Tensor& tensor) { return attention::traits_of(tensor.device().type()).works_in_parts; }

/// Of the rows of `hidden`; chunks of a GPU are equally long.
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

/// Of rows whose gradients are computed.
std::int64_t training_chunk(std::int64_t asked, const at::Tensor& hidden, std::int64_t vocabulary) {
  const std::int64_t usual = chunk_size(hidden, asked, vocabulary);
  if (asked > 0 || !works_in_parts(hidden)) {
    return usual;
  }
  const auto bytes = static_cast<std::int64_t>(c10::elementSize(product_dtype(hidden)));
  return std::max(usual, std::min(kFastChunk, kBytesOfFastChunk / (bytes * vocabulary)));
}

at::ScalarType sum_dtype(const at::Tensor& hidden) {
  return hidden.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

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

Head prepare(const HeadWeights& given, const at::Tensor& hidden, at::ScalarType dtype) {
  const at::ScalarType sums = sum_dtype(hidden);
  return {given.int8 ? given.weight : aligned(given.weight, dtype),
          given.bias.defined() ? given.bias.to(sums) : given.bias,
          {},
          dtype,
          given.int8.get()};
}

Chunk score(const at::Tensor& hidden, const Head& head, std::int64_t ids, const at::Tensor& labels) {
  Chunk chunk{operand(hidden, head.dtype), {}, {}, labels.unsqueeze(1), {}};
  chunk.aligned =
      (head.int8 != nullptr ? head.int8->multiply(chunk.hidden, {}, {}) : at::mm(chunk.hidden, head.weight.t()))
          .to(head.dtype);
  chunk.scores = chunk.aligned.size(1) == ids ? chunk.aligned : chunk.aligned.narrow(1, 0, ids);
  return chunk;
}

// The scores with their bias, widened, so that softmax and sums are float32. Where they are that already, it is their
// own memory.
at::Tensor logits_of(const Chunk& chunk, const Head& head, at::ScalarType sums) {
  at::Tensor logits = chunk.scores.to(sums);
  return head.bias.defined() ? logits.add_(head.bias) : logits;
}

void check(const at::Tensor& hidden, const HeadWeights& head, const at::Tensor& labels) {
  const at::DimVector sizes =
      head.int8 ? at::DimVector{head.int8->outputs(), head.int8->inputs()} : at::DimVector(head.weight.sizes());
  require(hidden.dim() == 2 && sizes.size() == 2 && hidden.size(1) == sizes[1], "loss: hidden states ", hidden.sizes(),
          " do not fit a head [vocabulary, hidden] = ", at::IntArrayRef(sizes));
  require(labels.dim() == 1 && labels.size(0) == hidden.size(0) && labels.scalar_type() == at::kLong,
          "loss: labels must be int64 [", hidden.size(0), "], found ", labels.scalar_type(), " ", labels.sizes());
  // One answer from the device for all labels: a gather with a wrong one would read outside of the logits.
  const at::Tensor wrong = labels.ne(kIgnoredLabel).logical_and_(labels.lt(0).logical_or_(labels.ge(head.outputs())));
  if (wrong.any().item<bool>()) {
    fail(ErrorKind::kArgument, "loss: label ", labels.masked_select(wrong)[0].item<std::int64_t>(), " is neither ",
         kIgnoredLabel, " nor an id below ", head.outputs());
  }
}

/// The gradients that the forward pass has gathered; a tensor is undefined where none is plan.
struct Gradients {
  at::Tensor hidden;  // [T, D]
  at::Tensor weight;  // [V, D], float32 or float64
  at::Tensor bias;    // [V]
};

/// What a chunk's losses are taken over: their number, how much of a target is spread, and the teacher's part.
struct Targets {
  double scale = 1.0;
  double smoothing = 0.0;
  double soft = 0.0;  // the teacher's share of the loss
  double temperature = 1.0;
};

/// What a few rows have from their teacher, already times its share.
struct Taught {
  at::Tensor losses;     // [C, 1]: T^2 KL(teacher || student), both with logits / T
  at::Tensor gradients;  // [C, V], of the logits: T (student - teacher)
};

Taught taught(const at::Tensor& logits, const at::Tensor& teacher, const Targets& targets, bool gathers) {
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
void finish_rows(const Chunk& chunk, const Head& head, const Targets& targets, at::Tensor losses, bool gathers) {
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
void finish_in_few_passes(const Chunk& chunk, const Head& head, at::Tensor losses, bool gathers) {
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

/// Whether finish() takes few passes, and leaves the scale to the backward pass.
bool takes_few_passes(const at::Tensor& hidden, double smoothing, bool has_teacher, bool is_int8) {
  return !works_in_parts(hidden) && smoothing == 0.0 && !has_teacher && !is_int8;
}

/// finish_rows() for all rows of a chunk, a few at a time where the device works in parts. Returns the losses, [C, 1].
at::Tensor finish(const Chunk& chunk, const Head& head, const Targets& targets, at::ScalarType sums, bool gathers) {
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

/// Adds what follows from a chunk whose scores finish() has turned into gradients.
void accumulate(Gradients& gradients, const Chunk& chunk, const Head& head, std::int64_t begin) {
  const bool is_first = begin == 0;
  if (gradients.bias.defined()) {
    const at::Tensor sums = column_sums(chunk.aligned, gradients.bias.scalar_type());
    add_part(gradients.bias, sums.narrow(0, 0, chunk.scores.size(1)), is_first);
  }
  const at::Tensor rounded = operand(chunk.aligned, head.dtype);
  if (gradients.hidden.defined()) {
    gradients.hidden.narrow(0, begin, rounded.size(0)).copy_(at::mm(rounded, head.weight));
  }
  if (!gradients.weight.defined()) {
    return;
  }
  const at::ScalarType sums = gradients.weight.scalar_type();
  const bool is_gathered = works_in_parts(rounded) || !is_first;  // the first product of a GPU is the gradient
  if (is_gathered && rounded.scalar_type() == sums && rounded.size(1) == gradients.weight.size(0)) {
    gradients.weight.addmm_(rounded.t(), chunk.hidden, is_first ? 0 : 1);
    return;
  }
  const at::Tensor product = summed_product(rounded.t(), chunk.hidden).narrow(0, 0, chunk.scores.size(1));
  if (is_gathered) {
    add_part(gradients.weight, product, is_first);
  } else {
    gradients.weight = product.to(sums);
  }
}

/// How far to go at once, and which gradients to gather.
struct Plan {
  std::int64_t chunk = 1;
  bool hidden = false;
  bool weight = false;
  bool bias = false;
  double smoothing = 0.0;
  const SoftTargets* teacher = nullptr;  // or none; it is asked in the forward pass only
  bool gathers() const { return hidden || weight || bias; }
  Targets targets(std::int64_t count) const {
    return {1.0 / static_cast<double>(count), smoothing, teacher != nullptr ? teacher->weight : 0.0,
            teacher != nullptr ? teacher->temperature : 1.0};
  }
};

Gradients make_gradients(const at::Tensor& hidden, const HeadWeights& head, Plan plan) {
  const at::TensorOptions sums = hidden.options().dtype(sum_dtype(hidden));
  Gradients gradients;
  gradients.hidden = plan.hidden ? at::empty_like(hidden) : at::Tensor();
  // The first chunk writes them, the others add.
  const bool has_rows = hidden.size(0) > 0;
  const auto room = [&](const at::Tensor& like) {
    return has_rows ? at::empty(like.sizes(), sums) : at::zeros(like.sizes(), sums);
  };
  gradients.bias = plan.bias ? room(head.bias) : at::Tensor();
  if (plan.weight) {
    gradients.weight = has_rows && !works_in_parts(hidden) ? at::empty({0}, sums) : room(head.weight);
  }
  return gradients;
}

struct LossFunction : torch::autograd::Function<LossFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& hidden, const at::Tensor& weight,
                            const std::optional<at::Tensor>& given_bias, const at::Tensor& labels, Plan plan) {
    const at::Tensor bias = given_bias.value_or(at::Tensor());
    const at::ScalarType dtype = product_dtype(hidden);
    const WithoutAutocast plain;
    Head head = prepare({weight, bias}, hidden, dtype);
    const at::ScalarType sums = sum_dtype(hidden);
    const bool is_quick = takes_few_passes(hidden, plan.smoothing, plan.teacher != nullptr, false);
    if (is_quick) {
      head.wide = wide_bias(head.bias, weight.size(0), head.weight.size(0), hidden.options().dtype(sums));
    }
    Gradients gradients = make_gradients(hidden, {weight, bias}, plan);
    // float64: a long text has millions of small summands.
    at::Tensor total = at::zeros({}, hidden.options().dtype(at::kDouble));
    const std::int64_t count = hidden.size(0);
    for (std::int64_t begin = 0; begin < count; begin += plan.chunk) {
      const std::int64_t rows = std::min(plan.chunk, count - begin);
      Chunk part = score(hidden.narrow(0, begin, rows), head, weight.size(0), labels.narrow(0, begin, rows));
      if (plan.teacher != nullptr) {
        part.teacher = plan.teacher->scores(begin, rows);
        require(part.teacher.sizes() == part.scores.sizes(), "distill: the teacher has scores ", part.teacher.sizes(),
                ", the student ", part.scores.sizes());
      }
      total.add_(finish(part, head, plan.targets(count), sums, plan.gathers()).sum(at::kDouble));
      if (plan.gathers()) {
        accumulate(gradients, part, head, begin);
      }
    }
    const auto mean_of = static_cast<double>(std::max<std::int64_t>(count, 1));
    // Gradients for an incoming gradient of 1; the backward pass only multiplies by what comes.
    context->save_for_backward({gradients.hidden, gradients.weight, gradients.bias});
    context->saved_data["weight_dtype"] = weight.scalar_type();
    context->saved_data["scale"] = is_quick ? 1.0 / mean_of : 1.0;
    return total.div_(mean_of).to(sums);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const WithoutAutocast plain;
    const variable_list saved = context->get_saved_variables();
    const at::ScalarType weight_dtype = context->saved_data["weight_dtype"].toScalarType();
    // Most losses end here, with the gradient 1; a GPU would have to be waited for.
    const double scale = context->saved_data["scale"].toDouble();
    const bool is_whole =
        scale == 1.0 && attention::is_in_host_memory(gradients[0]) && gradients[0].item<double>() == 1.0;
    const at::Tensor factor = scale == 1.0 ? gradients[0] : gradients[0].mul(scale);
    const auto scaled = [&](const at::Tensor& gradient) {
      return gradient.defined() && !is_whole ? gradient.mul(factor) : gradient;
    };
    at::Tensor of_weight = scaled(saved[1]);
    at::Tensor of_bias = scaled(saved[2]);
    of_weight = of_weight.defined() ? of_weight.to(weight_dtype) : of_weight;
    of_bias = of_bias.defined() ? of_bias.to(weight_dtype) : of_bias;
    return {scaled(saved[0]), of_weight, of_bias, {}, {}};
  }
};

}  // namespace

Labelled keep_labelled(const at::Tensor& hidden, const at::Tensor& labels) {
  const at::Tensor kept = labels.ne(kIgnoredLabel);
  if (kept.all().item<bool>()) {
    return {hidden, labels};
  }
  const at::Tensor rows = kept.nonzero().squeeze(1);
  return {hidden.index_select(0, attention::placed(rows, hidden.device())), labels.index_select(0, rows)};
}

namespace {

Plan plan_of(const at::Tensor& hidden, const HeadWeights& head, std::int64_t chunk, double smoothing) {
  const bool recording = at::GradMode::is_enabled();
  return {training_chunk(chunk, hidden, head.weight.size(0)), recording && hidden.requires_grad(),
          recording && head.weight.requires_grad(), recording && head.bias.defined() && head.bias.requires_grad(),
          smoothing};
}

/// The mean of what each label has. Codes have no gradient, so that there is nothing to gather.
at::Tensor int8_loss(const at::Tensor& hidden, const HeadWeights& head, const at::Tensor& labels, std::int64_t chunk,
                     double smoothing) {
  if (smoothing != 0.0 || (at::GradMode::is_enabled() && hidden.requires_grad())) {
    fail(ErrorKind::kUnsupported, "loss: int8 weights have no gradients: train the model that they were made from");
  }
  const LabelScores scores = linear_cross_entropy_each(hidden, head, labels, chunk);
  const std::int64_t count = labels.ne(kIgnoredLabel).sum().item<std::int64_t>();
  const double mean =
      scores.nats.sum(at::kDouble).item<double>() / static_cast<double>(std::max<std::int64_t>(count, 1));
  return at::full({}, mean, scores.nats.options());
}

}  // namespace

at::Tensor linear_cross_entropy(const at::Tensor& hidden, const HeadWeights& head, const at::Tensor& labels,
                                std::int64_t chunk, double smoothing) {
  if (head.int8) {
    return int8_loss(hidden, head, labels, chunk, smoothing);
  }
  check(hidden, head, labels);
  const Labelled kept = keep_labelled(hidden, labels);
  return LossFunction::apply(kept.hidden, head.weight, optional(head.bias),
                             attention::placed(kept.labels, hidden.device()),
                             plan_of(kept.hidden, head, chunk, smoothing));
}

at::Tensor distilled_cross_entropy(const Labelled& rows, const HeadWeights& head, const SoftTargets& teacher,
                                   std::int64_t chunk, double smoothing) {
  check(rows.hidden, head, rows.labels);
  require(!head.int8, "distill: the student's weights are int8, which have no gradients");
  require(!rows.labels.eq(kIgnoredLabel).any().item<bool>(), "distill: every row must have a label");
  Plan plan = plan_of(rows.hidden, head, chunk, smoothing);
  plan.teacher = &teacher;
  plan.chunk = chunk_size(rows.hidden, chunk, head.weight.size(0));  // the teacher's scores are there, too
  return LossFunction::apply(rows.hidden, head.weight, optional(head.bias), rows.labels, plan);
}

at::Tensor soft_cross_entropy(const at::Tensor& logits, const at::Tensor& teacher, double temperature) {
  require(logits.dim() == 2 && logits.sizes() == teacher.sizes(), "distill: the teacher has scores ", teacher.sizes(),
          ", the student ", logits.sizes());
  const at::ScalarType sums = sum_dtype(logits);
  const at::Tensor told = at::log_softmax(teacher.detach().to(sums).div(temperature), 1);
  const at::Tensor own = at::log_softmax(logits.to(sums).div(temperature), 1);
  const auto rows = static_cast<double>(std::max<std::int64_t>(logits.size(0), 1));
  return told.sub(own).mul(told.exp()).sum().mul(temperature * temperature / rows);
}

LabelScores linear_cross_entropy_each(const at::Tensor& hidden, const HeadWeights& head, const at::Tensor& given,
                                      std::int64_t chunk) {
  check(hidden, head, given);
  const at::Tensor labels = attention::placed(given, hidden.device());
  const at::NoGradGuard without_gradients;
  const at::ScalarType dtype = product_dtype(hidden);
  const WithoutAutocast plain;
  const Head prepared = prepare(head, hidden, dtype);
  const at::ScalarType sums = sum_dtype(hidden);
  const LabelScores scores{at::zeros(labels.sizes(), hidden.options().dtype(sums)),
                           at::zeros(labels.sizes(), hidden.options().dtype(at::kBool))};
  const at::Tensor rows = labels.ne(kIgnoredLabel).nonzero().squeeze(1);
  const std::int64_t step = chunk_size(rows, chunk, head.outputs());
  for (std::int64_t begin = 0; begin < rows.size(0); begin += step) {
    const at::Tensor chosen = rows.narrow(0, begin, std::min(step, rows.size(0) - begin));
    const Chunk part = score(hidden.index_select(0, chosen), prepared, head.outputs(), labels.index_select(0, chosen));
    const at::Tensor logits = logits_of(part, prepared, sums);
    const at::Tensor log_sum = logits.logsumexp(1, true);
    scores.nats.index_copy_(0, chosen, log_sum.sub_(logits.gather(1, part.targets)).squeeze(1));
    scores.hits.index_copy_(0, chosen, logits.argmax(1, true).eq(part.targets).squeeze(1));
  }
  return scores;
}

}  // namespace weft::layers
