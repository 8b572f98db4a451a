// SPDX-License-Identifier: Apache-2.0
// Both models score the same windows, and the same masks.
#include "weft/runs/evaluate/held_out.h"

#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/checkpoint/open_model.h"
#include "weft/checkpoint/patterns/encoder_with_attention.h"
#include "weft/checkpoint/patterns/load_with_attention.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/data/masking.h"
#include "weft/data/text_corpus.h"
#include "weft/fine_tuning/masked_text/masked_text_task.h"
#include "weft/tasks/task_model.h"
#include "weft/training/evaluation/evaluate.h"
#include "weft/training/evaluation/evaluate_masked.h"
#include "weft/training/run/run_of_model.h"

namespace weft::runs {
namespace {

constexpr double kMasked = 0.15;  // of the tokens, as `weft eval` masks them

training::EvaluateOptions evaluation(const HeldOutComparison& comparison) {
  training::EvaluateOptions options;
  options.context = comparison.context;
  options.dtype = training::dtype_of_model("run", comparison.model);
  options.progress = comparison.progress;
  return options;
}

double loss_of_own(const models::LanguageModel& model, const text::Tokenizer& tokenizer, const std::string& text,
                   const training::EvaluateOptions& options) {
  if (model->config().is_decoder) {
    return std::log(training::evaluate(model, tokenizer, text, options).perplexity);
  }
  const data::MaskingOptions masking =
      data::masking_options(tokenizer, data::mask_id_of(tokenizer, model->config().vocab_size), kMasked, "tokens", 0);
  return training::evaluate_masked(model, tokenizer, text, masking, options).loss;
}

std::string held_out_text(const HeldOutComparison& comparison) {
  return data::TextCorpus(comparison.text, comparison.max_bytes).text();
}

std::pair<double, double> losses_of_own(const checkpoint::OpenedModel& opened, const HeldOutComparison& comparison) {
  const std::string text = held_out_text(comparison);
  const std::unique_ptr<text::Tokenizer> tokenizer = checkpoint::load_tokenizer(opened);
  const training::EvaluateOptions options = evaluation(comparison);
  const double own = loss_of_own(checkpoint::load_model(opened), *tokenizer, text, options);
  const models::LanguageModel proposed =
      checkpoint::load_with_attention(opened, comparison.attention, comparison.model);
  return {own, loss_of_own(proposed, *tokenizer, text, options)};
}

std::pair<double, double> losses_of_encoder(const checkpoint::OpenedModel& opened,
                                            const HeldOutComparison& comparison) {
  const std::string text = held_out_text(comparison);
  tasks::TaskModelOptions open;
  open.head = models::Head::kMaskedLanguageModel;
  const tasks::TaskModel own = tasks::open_task_model(opened, open);
  const training::EvaluateOptions options = evaluation(comparison);
  const auto loss = [&](const models::EncoderModel& model) {
    return fine_tuning::evaluate_masked_text(model, *own.tokenizer, text, {kMasked, "tokens", 0}, options).loss;
  };
  return {loss(own.model), loss(checkpoint::encoder_with_attention(own.model, comparison.attention, comparison.model))};
}

std::pair<double, double> refuse_pair(const checkpoint::OpenedModel& opened, const HeldOutComparison&) {
  throw Error(ErrorKind::kUnsupported,
              concat(option("held_out"), " scores a text under a decoder or an encoder, but ",
                     quote(opened.path().string(), 4096), " is an encoder-decoder"),
              "weft eval MODEL --task translate --source FILE --target FILE --attention @FILE scores pairs");
}

using Losses = std::pair<double, double> (*)(const checkpoint::OpenedModel& opened,
                                             const HeldOutComparison& comparison);
constexpr std::array kLosses{checkpoint::Way<Losses>{checkpoint::Ability::kWrite, refuse_pair},
                             checkpoint::Way<Losses>{checkpoint::Ability::kPredict, losses_of_own},
                             checkpoint::Way<Losses>{checkpoint::Ability::kRead, losses_of_encoder}};

}  // namespace

formats::Json compare_held_out(const HeldOutComparison& comparison) {
  const checkpoint::OpenedModel opened = checkpoint::open_model(comparison.model);
  const auto [own, proposed] = way_of(opened, kLosses)(opened, comparison);
  return {{"own", own},
          {"proposed", proposed},
          {"change", own > 0 ? proposed / own - 1 : 0},
          {"context", comparison.context},
          {"dtype", training::dtype_of_model("run", comparison.model)}};
}

}  // namespace weft::runs
