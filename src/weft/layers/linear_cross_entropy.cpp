// SPDX-License-Identifier: Apache-2.0
// Chunked cross entropy, of labels and of a teacher's scores, as a custom autograd function that computes its gradients
// in the forward pass.
#include "weft/layers/linear_cross_entropy.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <utility>

#include "weft/attention/accumulation.h"
#include "weft/attention/backends/host_memory.h"
#include "weft/attention/devices/placed.h"
#include "weft/core/error.h"
#include "weft/layers/cross_entropy/score_chunk.h"
#include "weft/layers/cross_entropy/scores_by_chunks.h"
#include "weft/layers/host/row_kernels.h"
#include "weft/layers/precision.h"
#include "weft/layers/soft_targets.h"

namespace weft::layers {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

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

/// The gradients that the forward pass has gathered; a tensor is undefined where none is planned.
struct Gradients {
  at::Tensor hidden;  // [T, D]
  at::Tensor weight;  // [V, D], float32 or float64
  at::Tensor bias;    // [V]
};

/// Adds what follows from a chunk whose scores finish_chunk() has turned into gradients.
void accumulate(Gradients& gradients, const ScoreChunk& chunk, const LossHead& head, std::int64_t begin) {
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
  LossTargets targets(std::int64_t count) const {
    return {1.0 / static_cast<double>(count), smoothing, teacher != nullptr ? teacher->weight : 0.0,
            teacher != nullptr ? teacher->temperature : 1.0};
  }
};

Gradients make_gradients(const at::Tensor& hidden, const HeadWeights& head, Plan plan) {
  const at::TensorOptions sums = hidden.options().dtype(attention::accumulation_type(hidden));
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
    LossHead head = prepare_head({weight, bias}, hidden, dtype);
    const at::ScalarType sums = attention::accumulation_type(hidden);
    const bool is_quick = takes_few_passes(hidden, plan.smoothing, plan.teacher != nullptr, false);
    if (is_quick) {
      head = with_wide_bias(std::move(head), weight.size(0), hidden.options().dtype(sums));
    }
    Gradients gradients = make_gradients(hidden, {weight, bias}, plan);
    // float64: a long text has millions of small summands.
    at::Tensor total = at::zeros({}, hidden.options().dtype(at::kDouble));
    const std::int64_t count = hidden.size(0);
    for (std::int64_t begin = 0; begin < count; begin += plan.chunk) {
      const std::int64_t rows = std::min(plan.chunk, count - begin);
      ScoreChunk part = score_chunk(hidden.narrow(0, begin, rows), head, weight.size(0), labels.narrow(0, begin, rows));
      if (plan.teacher != nullptr) {
        part.teacher = plan.teacher->scores(begin, rows);
        require(part.teacher.sizes() == part.scores.sizes(), "distill: the teacher has scores ", part.teacher.sizes(),
                ", the student ", part.scores.sizes());
      }
      total.add_(finish_chunk(part, head, plan.targets(count), sums, plan.gathers()).sum(at::kDouble));
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
  const at::ScalarType sums = attention::accumulation_type(logits);
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
  const LossHead prepared = prepare_head(head, hidden, dtype);
  const at::ScalarType sums = attention::accumulation_type(hidden);
  const auto scores_of = [&](const Labelled& some) {
    const ScoreChunk part = score_chunk(some.hidden, prepared, head.outputs(), some.labels);
    const at::Tensor logits = logits_of(part, prepared, sums);
    const at::Tensor log_sum = logits.logsumexp(1, true);
    return LabelScores{log_sum.sub_(logits.gather(1, part.targets)).squeeze(1),
                       logits.argmax(1, true).eq(part.targets).squeeze(1)};
  };
  const at::Tensor rows = labelled_rows(labels);
  return scores_by_chunks(hidden, labels, rows, chunk_size(rows, chunk, head.outputs()), scores_of);
}

}  // namespace weft::layers
