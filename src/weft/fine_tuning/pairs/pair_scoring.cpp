// SPDX-License-Identifier: Apache-2.0
// Each process runs its share of the batches; sums over the processes are in every one of them.
#include "weft/fine_tuning/pairs/pair_scoring.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/log_softmax.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/core/error.h"
#include "weft/data/batch.h"
#include "weft/metrics/likelihood.h"
#include "weft/tasks/encoder_runner.h"
#include "weft/training/precision.h"
#include "weft/training/processes/process_group.h"

namespace weft::fine_tuning {
namespace {

std::vector<std::vector<std::size_t>> held_out_batches(const PairRows& rows, std::int64_t tokens) {
  std::vector<std::int64_t> lengths;
  lengths.reserve(static_cast<std::size_t>(rows.size()));
  for (std::int64_t pair = 0; pair < rows.size(); ++pair) {
    lengths.push_back(std::max(rows.source_length(pair), rows.target_length(pair)));
  }
  return tasks::batches_by_length(lengths, {rows.size(), tokens});
}

}  // namespace

PairScores score_pairs(models::EncoderDecoder model, const PairRows& rows, const PairScoringOptions& options) {
  const at::NoGradGuard no_grad;
  const training::AutocastGuard autocast(options.dtype);
  training::ProcessGroup& group = training::processes();
  const auto batches = held_out_batches(rows, options.batch_tokens);
  PairScores scores;
  for (std::size_t number = 0; number < batches.size(); ++number) {
    if (static_cast<std::int64_t>(number) % group.size() != group.rank()) {
      continue;
    }
    std::vector<PairRow> shown;
    std::int64_t labels = 0;
    for (const std::size_t pair : batches[number]) {
      shown.push_back(rows.row(static_cast<std::int64_t>(pair)));
      labels += rows.target_length(static_cast<std::int64_t>(pair));
    }
    const PairBatch batch = pair_batch(shown, model->config());
    scores.nats += model->loss(batch.pair, batch.labels).item<double>() * static_cast<double>(labels);
    scores.labels += labels;
    if (options.progress) {
      options.progress(static_cast<std::int64_t>(number) + 1, static_cast<std::int64_t>(batches.size()));
    }
  }
  scores.nats = group.sum(scores.nats);
  scores.labels = std::llround(group.sum(static_cast<double>(scores.labels)));
  if (!std::isfinite(scores.nats)) {
    fail(ErrorKind::kNumeric, "the held-out loss is ", scores.nats);
  }
  return scores;
}

std::vector<double> target_log_probabilities(models::EncoderDecoder model, const PairRows& rows, std::int64_t count,
                                             const PairScoringOptions& options) {
  constexpr std::int64_t kMostLogits = std::int64_t{1} << 26;
  const at::NoGradGuard no_grad;
  const training::AutocastGuard autocast(options.dtype);
  std::vector<std::int64_t> lengths;
  lengths.reserve(static_cast<std::size_t>(count));
  for (std::int64_t pair = 0; pair < count; ++pair) {
    lengths.push_back(std::max(rows.source_length(pair), rows.target_length(pair)));
  }
  const std::int64_t most = std::max<std::int64_t>(1, kMostLogits / model->config().target_vocab_size());
  std::vector<double> sums(static_cast<std::size_t>(count));
  for (const auto& batch : tasks::batches_by_length(lengths, {count, std::min(options.batch_tokens, most)})) {
    std::vector<PairRow> shown;
    shown.reserve(batch.size());
    for (const std::size_t pair : batch) {
      shown.push_back(rows.row(static_cast<std::int64_t>(pair)));
    }
    const PairBatch given = pair_batch(shown, model->config());
    const at::Tensor logits = model->logits(given.pair).to(at::kCPU, at::kFloat);
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const auto length = static_cast<std::int64_t>(shown[row].target.size());
      const auto place = static_cast<std::int64_t>(row);
      const at::Tensor ids = given.labels.select(0, place).narrow(0, 0, length).unsqueeze(1);
      const at::Tensor logs = at::log_softmax(logits.select(0, place).narrow(0, 0, length), 1);
      sums[batch[row]] = logs.gather(1, ids).sum(at::kDouble).item<double>();
      if (!std::isfinite(sums[batch[row]])) {
        fail(ErrorKind::kNumeric, "the score of target ", batch[row], " is ", sums[batch[row]]);
      }
    }
  }
  return sums;
}

formats::Json pair_figures(const PairScores& scores) {
  if (scores.labels == 0) {
    return {{"loss", 0.0}, {"perplexity", 1.0}};
  }
  return {{"loss", scores.nats / static_cast<double>(scores.labels)},
          {"perplexity", metrics::perplexity(scores.nats, scores.labels)}};
}

}  // namespace weft::fine_tuning
