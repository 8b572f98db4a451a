// SPDX-License-Identifier: Apache-2.0
// Each process fills in its texts in a table of zeros; the sum over the processes is the whole table, exactly.
#include "weft/fine_tuning/pairs/pair_writing.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <mutex>

#include "weft/core/log.h"
#include "weft/generation/pair_decoder.h"
#include "weft/generation/search/search.h"
#include "weft/metrics/summary/rouge.h"
#include "weft/metrics/translation/bleu.h"
#include "weft/tasks/encoder_runner.h"
#include "weft/training/precision.h"
#include "weft/training/processes/process_group.h"

namespace weft::fine_tuning {
generation::GenerationConfig writing_settings(const models::EncoderDecoderConfig& config, std::int64_t beams,
                                              bool short_targets) {
  generation::GenerationConfig settings;
  settings.num_beams = beams;
  settings.max_length = config.max_target_positions;
  settings.max_new_tokens_per_source = short_targets ? kShortTargets : "";
  settings.eos_token_id = {config.eos_token_id};
  settings.pad_token_id = config.pad_token_id;
  settings.decoder_start_token_id = config.decoder_start_token_id;
  // BART and LED begin with the token that ends a text.
  for (const std::int64_t id : {config.pad_token_id, config.decoder_start_token_id}) {
    const auto& banned = settings.suppress_tokens;
    if (id != config.eos_token_id && std::find(banned.begin(), banned.end(), id) == banned.end()) {
      settings.suppress_tokens.push_back(id);
    }
  }
  return settings;
}

namespace {

// The ids of each text, without its end.
std::vector<std::vector<std::int64_t>> write_batch(const models::EncoderDecoder& model, std::span<const PairRow> rows,
                                                   const WritingOptions& options) {
  const models::EncoderDecoderConfig& config = model->config();
  const PairBatch batch = pair_batch(rows, config);
  generation::PairDecoder decoder(model, batch.pair.input_ids, batch.pair.attention_mask);
  generation::SearchRequest request;
  request.prompts.assign(rows.size(), {config.decoder_start_token_id});
  for (const PairRow& row : rows) {
    request.sources.emplace_back(row.source.begin(), row.source.end());
  }
  const generation::GenerationConfig settings = writing_settings(config, options.beams, options.short_targets);
  std::vector<std::vector<std::int64_t>> texts;
  for (const auto& found : generation::search(decoder, request, settings)) {
    texts.push_back(found.empty() ? std::vector<std::int64_t>() : found.front().ids);
    if (!texts.back().empty() && texts.back().back() == config.eos_token_id) {
      texts.back().pop_back();
    }
    if (config.right_to_left) {
      std::reverse(texts.back().begin(), texts.back().end());
    }
  }
  return texts;
}

// A row is a text: how many ids it has, and the ids.
std::vector<std::string> texts_of(const at::Tensor& table, const text::PairTokenizer& tokenizer) {
  std::vector<std::string> texts;
  for (std::int64_t pair = 0; pair < table.size(0); ++pair) {
    const double* row = table.const_data_ptr<double>() + pair * table.size(1);
    texts.push_back(tokenizer.decode(std::vector<std::int64_t>(row + 1, row + 1 + static_cast<std::int64_t>(row[0]))));
  }
  return texts;
}

}  // namespace

std::vector<std::string> write_targets(const models::EncoderDecoder& model, const text::PairTokenizer& tokenizer,
                                       const PairRows& rows, const WritingOptions& options) {
  const at::NoGradGuard no_grad;
  const training::AutocastGuard autocast(options.dtype);
  training::ProcessGroup& group = training::processes();
  std::vector<std::int64_t> lengths;
  std::int64_t longest = 0;
  for (std::int64_t pair = 0; pair < options.examples; ++pair) {
    lengths.push_back(rows.source_length(pair));
    longest = std::max(longest, lengths.back());
  }
  const auto settings = writing_settings(model->config(), options.beams, options.short_targets);
  const std::int64_t width =
      generation::lengths_of(settings, 1, std::nullopt, longest).maximum;  // new tokens and their number
  const at::Tensor table = at::zeros({options.examples, width}, at::kDouble);
  const auto batches =
      tasks::batches_by_length(lengths, {options.batch_rows, options.batch_tokens, tasks::kWritingPass});
  for (std::size_t number = 0; number < batches.size(); ++number) {
    if (static_cast<std::int64_t>(number) % group.size() != group.rank()) {
      continue;
    }
    std::vector<PairRow> shown;
    for (const std::size_t pair : batches[number]) {
      shown.push_back(rows.row(static_cast<std::int64_t>(pair)));
    }
    const auto texts = write_batch(model, shown, options);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      double* row = table.data_ptr<double>() + static_cast<std::int64_t>(batches[number][i]) * width;
      row[0] = static_cast<double>(texts[i].size());
      std::copy(texts[i].begin(), texts[i].end(), row + 1);
    }
    if (options.progress) {
      options.progress(static_cast<std::int64_t>(number) + 1, static_cast<std::int64_t>(batches.size()));
    }
  }
  if (!group.is_alone()) {
    group.begin_sum(table)();
  }
  return texts_of(table, tokenizer);
}

formats::Json writing_figures(std::string_view task, std::span<const std::string> texts,
                              std::span<const std::string> references) {
  if (task == "translate") {
    if (texts.empty()) {
      return {{"bleu", nullptr}};
    }
    metrics::BleuScorer scorer{metrics::BleuOptions()};
    for (std::size_t i = 0; i < texts.size(); ++i) {
      scorer.add(texts[i], references.subspan(i, 1));
    }
    return {{"bleu", scorer.score().score}};
  }
  metrics::RougeScorer scorer(true);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    scorer.add(texts[i], references.subspan(i, 1));
  }
  static std::once_flag said;  // once for all evaluations of a training
  if (const std::string remark = scorer.reach().remark(); !remark.empty() && training::processes().is_first()) {
    std::call_once(said, [&] { log_warning(remark); });
  }
  formats::Json figures = formats::Json::object();
  for (std::size_t kind = 0; kind < metrics::kRougeNames.size(); ++kind) {
    figures[std::string(metrics::kRougeNames[kind])] =
        texts.empty() ? formats::Json(nullptr) : formats::Json(scorer.mean()[kind].f1);
  }
  return figures;
}

}  // namespace weft::fine_tuning
