// SPDX-License-Identifier: Apache-2.0
// Loss first, then what is written.
#include "weft/fine_tuning/pairs/pair_measurement.h"

#include <algorithm>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/fine_tuning/pairs/pair_encoding.h"
#include "weft/fine_tuning/pairs/pair_run.h"
#include "weft/fine_tuning/pairs/pair_scoring.h"
#include "weft/fine_tuning/pairs/pair_texts.h"
#include "weft/fine_tuning/pairs/pair_writing.h"
#include "weft/fine_tuning/review.h"
#include "weft/training/run/run_of_model.h"

namespace weft::fine_tuning {
namespace {

// What is told of a pair besides its texts.
formats::Json forced_figures(const PairRows& rows, std::span<const double> truths, std::size_t pair) {
  return {{"log_probability", truths[pair]}, {"tokens", rows.target_length(static_cast<std::int64_t>(pair))}};
}

// A line for each pair of `truths`, with the text that was written for it, if any. The pairs are read once more: their
// encoding kept no source. Pieces of plain texts have no place.
void tell_predictions(PairTexts* texts, std::span<const std::string> references, std::span<const std::string> written,
                      const std::function<void(const formats::Json& line, std::size_t pair)>& tell) {
  TextPair pair;
  for (std::size_t i = 0; i < references.size() && (texts == nullptr || texts->next(pair)); ++i) {
    formats::Json line = formats::Json::object();
    if (texts != nullptr) {
      line = {{"where", pair.where}, {"source", pair.source}};
    }
    if (i < written.size()) {
      line["text"] = written[i];
    }
    line["truth"] = references[i];
    tell(line, i);
  }
}

}  // namespace

std::string doubt_of_texts(std::span<const std::string> texts, std::span<const std::string> references) {
  const auto is_one = [](std::span<const std::string> all) {
    return std::all_of(all.begin(), all.end(), [&](const std::string& text) { return text == all.front(); });
  };
  if (texts.size() < 2 || !is_one(texts) || is_one(references.first(texts.size()))) {
    return {};
  }
  const std::string what = texts.front().empty() ? "nothing" : "the same text, " + quote(texts.front()) + ",";
  return concat("the model writes ", what, " for each of the ", texts.size(), " held-out sources", kMore);
}

formats::Json held_out_figures(const models::EncoderDecoder& model, const text::PairTokenizer& tokenizer,
                               const HeldOutPairs& pairs, const PairConfig& config, const PairMeasuring& how) {
  formats::Json figures = pair_figures(score_pairs(model, pairs.rows, {config.batch_tokens, how.dtype, how.progress}));
  if (config.generated_examples > 0) {
    WritingOptions writing;
    writing.examples = std::min(config.generated_examples, pairs.rows.size());
    writing.beams = config.eval_beams;
    writing.batch_tokens = config.batch_tokens;
    writing.short_targets = config.task == "translate";
    writing.dtype = how.dtype;
    writing.progress = how.progress;
    const std::vector<std::string> texts = write_targets(model, tokenizer, pairs.rows, writing);
    figures.update(writing_figures(config.task, texts, pairs.references.first(texts.size())));
    if (how.wrote) {
      how.wrote(texts);
    }
  }
  return figures;
}

MeasuredPairs measure_pairs(const checkpoint::OpenedModel& opened, const PairMeasurement& measurement) {
  opened.need(checkpoint::Ability::kWrite);
  PairTexts texts(measurement.pairs, true);
  require(texts.given(), "weft eval --task ", measurement.pairs.task, ": no held-out pairs are given");
  const PairModel begin = opened_pair(opened, measurement.changes, measurement.graphs, measurement.weights);
  const models::EncoderDecoderConfig& model = begin.model->config();
  PairConfig config = measurement.pairs;
  const PairLimits limits = limits_of(config, model);
  config.batch_tokens = std::max({config.batch_tokens, limits.source, limits.target});  // the longest text fits
  MeasuredPairs measured;
  PairRows rows;
  std::vector<std::string> references;
  measured.read = PairEncoding{config, model, *begin.tokenizer}.encode(texts, rows, &references);
  measured.dtype = training::dtype_of_model(measurement.how.dtype, opened.path());
  std::vector<std::string> written;
  const auto wrote = [&](std::span<const std::string> all) {
    written.assign(all.begin(), all.end());
    measured.written = std::ssize(written);
    measured.doubt = doubt_of_texts(written, references);
  };
  const PairMeasuring how{measured.dtype, measurement.how.progress, wrote};
  measured.figures = held_out_figures(begin.model, *begin.tokenizer, {rows, references}, config, how);
  if (measurement.prediction) {
    const std::int64_t told = written.empty() ? rows.size() : measured.written;
    const std::vector<double> truths = target_log_probabilities(
        begin.model, rows, told, {config.batch_tokens, measured.dtype, measurement.how.progress});
    tell_predictions(makes_noise(config) ? nullptr : &texts,
                     std::span<const std::string>(references).first(static_cast<std::size_t>(told)), written,
                     [&](formats::Json line, std::size_t pair) {
                       line.update(forced_figures(rows, truths, pair));
                       measurement.prediction(line);
                     });
  }
  return measured;
}

}  // namespace weft::fine_tuning
