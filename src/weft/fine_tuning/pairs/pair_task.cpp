// SPDX-License-Identifier: Apache-2.0
// Everything random is a function of seed, step and part.
#include "weft/fine_tuning/pairs/pair_task.h"

#include <algorithm>
#include <span>

#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/fine_tuning/pairs/alignment_loss.h"
#include "weft/fine_tuning/pairs/pair_measurement.h"
#include "weft/fine_tuning/pairs/pair_scoring.h"
#include "weft/fine_tuning/pairs/pair_writing.h"
#include "weft/layers/attention/cross_attention.h"
#include "weft/models/families/pair_rules.h"
#include "weft/training/processes/process_group.h"
#include "weft/training/text_task.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

// "pair" in ASCII: dropout's seeds are independent of the data's order.
constexpr std::uint64_t kPairDropoutStream = 0x70616972;

// `frame` is the number of special tokens of a side, which stored pairs have and pieces of plain text have not.
data::LengthBatches pair_batches(const PairRows& rows, const PairSettings& settings, std::int64_t frame) {
  if (rows.size() == 0) {
    fail(ErrorKind::kFormat, "the training data have no pair");
  }
  const bool is_noised = makes_noise(settings.pairs);
  std::vector<std::int32_t> longer;
  std::vector<std::int32_t> shorter;
  for (std::int64_t pair = 0; pair < rows.size(); ++pair) {
    // What is shown of a piece of plain text fits into a batch; the piece may be longer. Its target is no text.
    const std::int64_t source =
        is_noised ? std::min(rows.source_length(pair) + frame, settings.pairs.batch_tokens) : rows.source_length(pair);
    const auto [low, high] = std::minmax({source, is_noised ? source : rows.target_length(pair)});
    longer.push_back(static_cast<std::int32_t>(high));
    shorter.push_back(static_cast<std::int32_t>(low));
  }
  data::LengthBatchOptions options;
  options.seed = static_cast<std::uint64_t>(settings.trainer.seed);
  options.tokens = settings.pairs.batch_tokens;
  return {std::move(longer), options, std::move(shorter)};
}

}  // namespace

PairTask::PairTask(PairModel begin, const PairSettings& settings, PairData data)
    : model_(std::move(begin.model)),
      tokenizer_(std::move(begin.tokenizer)),
      generation_(std::move(begin.generation)),
      settings_(settings),
      data_(std::move(data)),
      batches_(pair_batches(data_.training, settings, tokenizer_->frame().size())),
      source_subwords_(training::subword_sampler(settings.trainer, tokenizer_->side(text::Side::kSource))),
      target_subwords_(&tokenizer_->side(text::Side::kSource) == &tokenizer_->side(text::Side::kTarget)
                           ? source_subwords_
                           : training::subword_sampler(settings.trainer, tokenizer_->side(text::Side::kTarget))),
      identity_({{"rows", data_.training.size()},
                 {"tokens", data_.training.tokens()},
                 {"fingerprint", training::fingerprint_text(data_.training.fingerprint())}}) {}

std::int64_t PairTask::steps_of(std::int64_t epochs) {
  const std::int64_t parts = parts_per_step(settings_.trainer);
  return (batches_.first_batch(epochs) + parts - 1) / parts;
}

const std::vector<std::int64_t>& PairTask::pairs(std::int64_t step, std::int64_t part) {
  return batches_.batch(step * parts_per_step(settings_.trainer) + part);
}

// Sources have even numbers, targets odd ones: every text has a draw of its own. A text of which eight draws are longer
// than the run takes stays as it is.
void PairTask::draw_anew(std::vector<PairRow>& rows, std::int64_t step, std::int64_t part) const {
  const PairLimits limits = limits_of(settings_.pairs, model_->config());
  const data::RowDraws draws = {static_cast<std::uint64_t>(settings_.trainer.seed), step, part};
  std::int64_t number = 0;
  for (PairRow& row : rows) {
    const auto drawn_side = [&](std::vector<std::int64_t>& side, const text::SubwordSampler& sampler,
                                std::int64_t longest) {
      const auto fits = [longest](std::size_t tokens) { return static_cast<std::int64_t>(tokens) <= longest; };
      auto drawn = data::drawn_row(side, sampler, draws, number++, fits);
      if (drawn) {
        side = std::move(drawn->ids);
      }
      return drawn;
    };
    const auto source = drawn_side(row.source, *source_subwords_, limits.source);
    const auto target = drawn_side(row.target, *target_subwords_, limits.target);
    row.links = drawn_links(row.links, source ? &*source : nullptr, target ? &*target : nullptr);
  }
}

std::vector<PairRow> PairTask::shown(std::int64_t step, std::int64_t part) {
  std::vector<PairRow> rows;
  for (const std::int64_t pair : pairs(step, part)) {
    rows.push_back(data_.training.row(pair));
  }
  if (data_.drawer) {
    const data::RowDraws draws = {static_cast<std::uint64_t>(settings_.trainer.seed), step, part};
    for (std::size_t place = 0; place < rows.size(); ++place) {
      rows[place] = data_.drawer(rows[place], draws, static_cast<std::int64_t>(place));
    }
  }
  if (source_subwords_) {
    draw_anew(rows, step, part);
  }
  return rows;
}

// Drawn rows are kept until they are shown: a draw decides how many tokens there are.
double PairTask::weight(std::int64_t step, std::int64_t part) {
  std::int64_t labels = 0;
  if (!draws_rows()) {
    for (const std::int64_t pair : pairs(step, part)) {
      labels += data_.training.target_length(pair);
    }
    return static_cast<double>(labels);
  }
  if (drawn_step_ != step) {
    drawn_.clear();
    drawn_step_ = step;
  }
  for (const PairRow& row : drawn_[part] = shown(step, part)) {
    labels += static_cast<std::int64_t>(row.target.size());
  }
  return static_cast<double>(labels);
}

at::Tensor PairTask::loss(std::int64_t step, std::int64_t part) {
  auto drawn = drawn_step_ == step ? drawn_.extract(part) : decltype(drawn_)::node_type();
  const std::vector<PairRow> rows = drawn ? std::move(drawn.mapped()) : shown(step, part);
  PairBatch batch = pair_batch(rows, model_->config());
  batch.pair.seed = training::dropout_seed(settings_.trainer, kPairDropoutStream, step, part);
  if (data_.training.links() == 0) {
    return model_->loss(batch.pair, batch.labels, settings_.trainer.label_smoothing);
  }
  const models::EncoderDecoderConfig& config = model_->config();
  batch.pair.weights = std::make_shared<layers::CrossWeights>(layers::CrossWeights{.layer = config.alignment_layer});
  const at::Tensor translation = model_->loss(batch.pair, batch.labels, settings_.trainer.label_smoothing);
  std::int64_t tokens = 0;
  for (const PairRow& row : rows) {
    tokens += static_cast<std::int64_t>(row.target.size());
  }
  return translation + settings_.pairs.alignment_weight *
                           alignment_loss(batch.pair.weights->weights, config.alignment_head, rows, tokens);
}

std::int64_t PairTask::tokens(std::int64_t step, std::int64_t part) {
  std::int64_t count = 0;
  for (const std::int64_t pair : pairs(step, part)) {
    // The target of a plain text is not its tokens.
    count += data_.training.source_length(pair) + (data_.drawer ? 0 : data_.training.target_length(pair));
  }
  return count;
}

Json PairTask::evaluate(const std::function<void(std::int64_t, std::int64_t)>& progress) {
  if (data_.held_out.size() == 0) {
    return Json::object();
  }
  const auto wrote = [this](std::span<const std::string> texts) { doubt_ = doubt_of_texts(texts, data_.references); };
  return held_out_figures(model_, *tokenizer_, {data_.held_out, data_.references}, settings_.pairs,
                          {settings_.trainer.dtype, progress, wrote});
}

std::optional<std::vector<std::string>> PairTask::figure_names() {
  std::vector<std::string> names;
  if (data_.held_out.size() > 0) {
    Json figures = pair_figures(PairScores());
    if (settings_.pairs.generated_examples > 0) {
      figures.update(writing_figures(settings_.pairs.task, {}, {}));
    }
    for (const auto& [name, value] : figures.items()) {
      names.push_back(name);
    }
  }
  return names;
}

void PairTask::save(const std::filesystem::path& directory) const {
  checkpoint::save_encoder_decoder(directory, model_, *tokenizer_);
  if (!generation_.empty()) {
    write_file_atomically(directory / "generation_config.json", generation_);
  }
  if (!generation_.empty() || !models::pair_rules(model_->config()).is_own()) {
    return;
  }
  // What writes texts with the model later searches as evaluation did.
  const models::EncoderDecoderConfig& config = model_->config();
  const generation::GenerationConfig search = writing_settings(config, 1, settings_.pairs.task == "translate");
  Json settings = {{"decoder_start_token_id", search.decoder_start_token_id},
                   {"eos_token_id", config.eos_token_id},
                   {"pad_token_id", search.pad_token_id},
                   {"suppress_tokens", search.suppress_tokens},
                   {"max_length", search.max_length}};
  if (!search.max_new_tokens_per_source.empty()) {
    settings["max_new_tokens_per_source"] = search.max_new_tokens_per_source;
  }
  write_file_atomically(directory / "generation_config.json", formats::print_json(settings, 2) + "\n");
}

void PairTask::load(const std::filesystem::path& directory) {
  training::copy_leaves(*checkpoint::load_encoder_decoder(directory), *model_);
}

}  // namespace weft::fine_tuning
