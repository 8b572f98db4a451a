// SPDX-License-Identifier: Apache-2.0
// Both models measure the same pieces of text in the same way.
#include "weft/runs/evaluate/int8_cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/checkpoint/model_directory.h"
#include "weft/checkpoint/open_model.h"
#include "weft/checkpoint/sentence/sentence_directory.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/data/masking.h"
#include "weft/fine_tuning/masked_text/masked_text_task.h"
#include "weft/fine_tuning/pairs/pair_measurement.h"
#include "weft/runs/evaluate/language_config.h"
#include "weft/runs/evaluate/pairs.h"
#include "weft/tasks/embedding/embedder.h"
#include "weft/tasks/encoder_settings.h"
#include "weft/training/evaluation/evaluate.h"
#include "weft/training/evaluation/evaluate_masked.h"
#include "weft/training/run/run_of_model.h"

namespace weft::runs {
namespace {

using checkpoint::Ability;
using formats::Json;

constexpr std::size_t kMostPieces = 32;
constexpr std::size_t kLeastPiece = 2048;  // bytes: a loss of fewer tokens says little
constexpr double kMaskedInCheck = 0.15;    // of the tokens, as `weft eval` masks them

/// A loss and over how many tokens it is the mean.
struct Loss {
  double nats = 0.0;
  double tokens = 0.0;
};

/// `text` cut behind line ends into up to kMostPieces pieces.
std::vector<std::string_view> pieces_of(std::string_view text) {
  const std::size_t size = std::max(kLeastPiece, text.size() / kMostPieces + 1);
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    const std::size_t end = size < text.size() ? text.find('\n', size) : std::string_view::npos;
    // A short rest belongs to the piece before it.
    const bool is_last = end == std::string_view::npos || text.size() - end - 1 < kLeastPiece;
    const std::size_t count = is_last ? text.size() : end + 1;
    pieces.push_back(text.substr(0, count));
    text.remove_prefix(count);
  }
  return pieces;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (text.substr(0, end).find_first_not_of(" \t\r") != std::string_view::npos) {
      lines.emplace_back(text.substr(0, end));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Json compared_losses(const std::vector<Loss>& stored, const std::vector<Loss>& int8, const char* measure) {
  double tokens = 0.0;
  double before = 0.0;
  double after = 0.0;
  double worst = -1e30;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    tokens += stored[i].tokens;
    before += stored[i].nats * stored[i].tokens;
    after += int8[i].nats * int8[i].tokens;
    worst = std::max(worst, int8[i].nats - stored[i].nats);
  }
  const double count = std::max(tokens, 1.0);
  return {{"measure", measure},    {"stored", before / count},
          {"int8", after / count}, {"mean_change", (after - before) / count},
          {"worst_change", worst}, {"pieces", stored.size()}};
}

/// How the commands that read and write texts compute with the model where nobody tells them how; with one that they
/// do not open, which only predicts masked tokens, how `weft eval` does.
tasks::EncoderSettings usual_numbers(const checkpoint::OpenedModel& opened) {
  const bool is_for_eval =
      opened.can(Ability::kPredict) && !opened.can(Ability::kContinue) && !opened.can(Ability::kRead);
  if (is_for_eval) {
    tasks::EncoderSettings numbers;
    numbers.products = training::dtype_of_model(LanguageConfig().dtype, opened.root());
    return numbers;
  }
  return opened.can(Ability::kContinue) ? tasks::decoder_settings({}, opened.path())
                                        : tasks::encoder_settings({}, opened.root());
}

training::EvaluateOptions quiet_options(const tasks::EncoderSettings& numbers) {
  training::EvaluateOptions options;
  options.dtype = numbers.products;
  return options;
}

std::vector<Loss> losses_of_predictor(const checkpoint::OpenedModel& opened,
                                      const std::vector<std::string_view>& pieces) {
  const tasks::EncoderSettings numbers = usual_numbers(opened);
  const models::LanguageModel model = checkpoint::load_model(opened, tasks::decoder_options(numbers));
  const std::unique_ptr<text::Tokenizer> tokenizer = checkpoint::load_tokenizer(opened);
  std::vector<Loss> losses;
  for (const std::string_view piece : pieces) {
    if (model->config().is_decoder) {
      const training::EvalResult result = training::evaluate(model, *tokenizer, piece, quiet_options(numbers));
      losses.push_back({std::log(result.perplexity), static_cast<double>(result.tokens)});
      continue;
    }
    const data::MaskingOptions masking = data::masking_options(
        *tokenizer, data::mask_id_of(*tokenizer, model->config().vocab_size), kMaskedInCheck, "tokens", 0);
    const training::MaskedResult result =
        training::evaluate_masked(model, *tokenizer, piece, masking, quiet_options(numbers));
    losses.push_back({result.loss, static_cast<double>(result.tokens)});
  }
  return losses;
}

Json cost_of_predictor(const Int8Check& check, const checkpoint::OpenedModel& stored,
                       const checkpoint::OpenedModel& int8) {
  const std::string text = read_file(named_by_user(check.text));
  const std::vector<std::string_view> pieces = pieces_of(text);
  require(!pieces.empty(), option("check"), ": ", Quoted(check.text.string(), 4096), " is empty");
  const char* const measure = stored.facts().reads.is_causal ? "nats a token" : "nats a masked token";
  return compared_losses(losses_of_predictor(stored, pieces), losses_of_predictor(int8, pieces), measure);
}

std::vector<Loss> losses_of_masked(const checkpoint::OpenedModel& opened, const std::vector<std::string_view>& pieces) {
  const tasks::EncoderSettings numbers = usual_numbers(opened);
  tasks::TaskModelOptions options = tasks::model_options(numbers);
  options.head = models::Head::kMaskedLanguageModel;
  const tasks::TaskModel model = tasks::open_task_model(opened, options);
  std::vector<Loss> losses;
  for (const std::string_view piece : pieces) {
    const training::MaskedResult result = fine_tuning::evaluate_masked_text(
        model.model, *model.tokenizer, piece, {kMaskedInCheck, "tokens", 0}, quiet_options(numbers));
    losses.push_back({result.loss, static_cast<double>(result.tokens)});
  }
  return losses;
}

/// The vector of each line.
std::vector<std::vector<float>> vectors_of(const checkpoint::OpenedModel& opened,
                                           const std::vector<std::string>& lines) {
  tasks::Embedder embedder = tasks::open_embedder(opened, tasks::model_options(usual_numbers(opened)));
  std::vector<tasks::Document> documents;
  documents.reserve(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    documents.push_back({.first = lines[i], .name = concat("line ", i + 1)});
  }
  std::vector<std::vector<float>> vectors;
  for (tasks::TextVector& found : tasks::embed_texts(embedder, documents)) {
    vectors.push_back(std::move(found.vector));
  }
  return vectors;
}

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double product = 0.0;
  double of_a = 0.0;
  double of_b = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    product += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    of_a += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    of_b += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return product / std::max(std::sqrt(of_a * of_b), 1e-30);
}

Json cost_of_vectors(const Int8Check& check, const checkpoint::OpenedModel& stored,
                     const checkpoint::OpenedModel& int8) {
  const std::vector<std::string> lines = lines_of(read_file(named_by_user(check.text)));
  require(!lines.empty(), option("check"), ": ", Quoted(check.text.string(), 4096), " is empty");
  const auto before = vectors_of(stored, lines);
  const auto after = vectors_of(int8, lines);
  double sum = 0.0;
  double worst = 0.0;
  double worst_pair = 0.0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double turned = 1.0 - cosine(before[i], after[i]);
    sum += turned;
    worst = std::max(worst, turned);
    if (i > 0) {
      worst_pair = std::max(worst_pair, std::abs(cosine(before[i - 1], before[i]) - cosine(after[i - 1], after[i])));
    }
  }
  return {{"measure", "1 - cosine"},
          {"mean_change", sum / static_cast<double>(before.size())},
          {"worst_change", worst},
          {"worst_pair", worst_pair},
          {"texts", before.size()}};
}

Json cost_of_reader(const Int8Check& check, const checkpoint::OpenedModel& stored,
                    const checkpoint::OpenedModel& int8) {
  const bool has_modules = checkpoint::read_sentence_directory(stored.root()).has_value();
  if (has_modules || stored.head() != models::Head::kMaskedLanguageModel) {
    return cost_of_vectors(check, stored, int8);
  }
  const std::string text = read_file(named_by_user(check.text));
  const std::vector<std::string_view> pieces = pieces_of(text);
  require(!pieces.empty(), option("check"), ": ", Quoted(check.text.string(), 4096), " is empty");
  return compared_losses(losses_of_masked(stored, pieces), losses_of_masked(int8, pieces), "nats a masked token");
}

Json figures_of_pairs(const Int8Check& check, const std::filesystem::path& model,
                      const checkpoint::OpenedModel& opened) {
  PairsAsked asked;
  asked.run = model;
  asked.task = "translate";
  asked.source = {check.text.string()};
  asked.target = {check.target.string()};
  const tasks::EncoderSettings numbers = usual_numbers(opened);
  asked.dtype = numbers.products;
  fine_tuning::PairMeasurement measurement = pair_measurement(opened, asked);
  measurement.weights = numbers.dtype;
  return fine_tuning::measure_pairs(opened, measurement).figures;
}

Json cost_of_pair(const Int8Check& check, const checkpoint::OpenedModel& stored, const checkpoint::OpenedModel& int8) {
  const Json before = figures_of_pairs(check, check.model, stored);
  const Json after = figures_of_pairs(check, check.int8, int8);
  const auto change = [&](const char* name) {
    const bool has_both = before.value(name, Json()).is_number() && after.value(name, Json()).is_number();
    return has_both ? Json(after[name].get<double>() - before[name].get<double>()) : Json(nullptr);
  };
  return {
      {"measure", "nats a token"},
      {"stored", before.value("loss", Json())},
      {"int8", after.value("loss", Json())},
      {"mean_change", change("loss")},
      {"bleu",
       {{"stored", before.value("bleu", Json())}, {"int8", after.value("bleu", Json())}, {"change", change("bleu")}}}};
}

using Cost = Json (*)(const Int8Check& check, const checkpoint::OpenedModel& stored,
                      const checkpoint::OpenedModel& int8);
constexpr std::array kCosts{checkpoint::Way<Cost>{Ability::kWrite, cost_of_pair},
                            checkpoint::Way<Cost>{Ability::kPredict, cost_of_predictor},
                            checkpoint::Way<Cost>{Ability::kRead, cost_of_reader}};

}  // namespace

void check_int8_texts(const Int8Check& check) {
  const checkpoint::OpenedModel opened = checkpoint::open_model(check.model);
  static_cast<void>(way_of(opened, kCosts));  // refuses a model of pictures, which has no text to be checked with
  const bool writes = opened.can(Ability::kWrite);
  require(!writes || !check.target.empty(), option("check_target"),
          " is missing: an encoder-decoder is checked with sources and what they should become");
  require(writes || check.target.empty(), option("check_target"), " is for encoder-decoders, which write targets");
  for (const auto& [name, file] : {std::pair("check", check.text), std::pair("check_target", check.target)}) {
    if (!file.empty() && !std::filesystem::is_regular_file(file)) {
      fail(ErrorKind::kIo, option(name), ": ", quote(file.native(), 4096), " is no file");
    }
  }
}

Json int8_cost(const Int8Check& check) {
  const checkpoint::OpenedModel stored = checkpoint::open_model(check.model);
  const checkpoint::OpenedModel int8 = checkpoint::open_model(check.int8);
  Json cost = way_of(stored, kCosts)(check, stored, int8);
  const auto dtype = [](const checkpoint::OpenedModel& opened) {
    return tasks::dtype_text(tasks::product_type(usual_numbers(opened)));
  };
  cost["dtype"] = {{"stored", dtype(stored)}, {"int8", dtype(int8)}};
  return cost;
}

}  // namespace weft::runs
