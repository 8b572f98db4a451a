// SPDX-License-Identifier: Apache-2.0
// Each process fills in its examples in a table of zeros; the sum over the processes is the whole table, exactly.
#include "weft/fine_tuning/scoring.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include "weft/tasks/encoder_runner.h"
#include "weft/training/precision.h"
#include "weft/training/processes/process_group.h"

namespace weft::fine_tuning {
namespace {

// Where each example's numbers begin, and behind the last.
std::vector<std::int64_t> number_begins(const Objective& objective) {
  std::vector<std::int64_t> begins = {0};
  for (std::int64_t example = 0; example < objective.examples(Split::kHeldOut); ++example) {
    begins.push_back(begins.back() + objective.numbers(example));
  }
  return begins;
}

std::vector<std::vector<std::size_t>> batches_of(const Objective& objective, const ScoringOptions& options) {
  const std::int64_t examples = objective.examples(Split::kHeldOut);
  std::vector<std::int64_t> lengths;
  lengths.reserve(static_cast<std::size_t>(examples));
  for (std::int64_t example = 0; example < examples; ++example) {
    lengths.push_back(objective.length(Split::kHeldOut, example));
  }
  return tasks::batches_by_length(lengths, {options.examples, options.tokens});
}

}  // namespace

std::vector<double> score_examples(const Objective& objective, models::EncoderModel& model,
                                   const ScoringOptions& options) {
  const at::NoGradGuard no_grad;
  const training::AutocastGuard autocast(options.dtype);
  training::ProcessGroup& group = training::processes();
  const std::vector<std::int64_t> begins = number_begins(objective);
  const at::Tensor table = at::zeros({begins.back()}, at::kDouble);
  const std::span<double> numbers(table.data_ptr<double>(), static_cast<std::size_t>(begins.back()));
  const auto batches = batches_of(objective, options);
  // Numbers of a row are laid out as those of its classes.
  const models::Head shape = objective.tokens_at_once() > 0 ? models::Head::kSequenceClassification : model->head();
  for (std::size_t number = 0; number < batches.size(); ++number) {
    if (static_cast<std::int64_t>(number) % group.size() != group.rank()) {
      continue;
    }
    const std::vector<std::int64_t> batch(batches[number].begin(), batches[number].end());
    const std::vector<TokenRow> rows = objective.token_rows(Split::kHeldOut, batch);
    const models::EncoderOutput output = objective.run(*model, objective.input(rows, options.padding));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Objective::RowRange range = objective.row_range(Split::kHeldOut, batch[i]);
      const std::int64_t tokens = objective.rows(Split::kHeldOut).length(range.begin);
      const auto begin = static_cast<std::size_t>(begins[static_cast<std::size_t>(batch[i])]);
      const auto end = static_cast<std::size_t>(begins[static_cast<std::size_t>(batch[i]) + 1]);
      objective.keep(tasks::row_of_output(output, shape, static_cast<std::int64_t>(i), tokens), batch[i],
                     numbers.subspan(begin, end - begin));
    }
    if (options.progress) {
      options.progress(static_cast<std::int64_t>(number) + 1, static_cast<std::int64_t>(batches.size()));
    }
  }
  if (!group.is_alone()) {
    group.begin_sum(table)();
  }
  return {numbers.begin(), numbers.end()};
}

}  // namespace weft::fine_tuning
