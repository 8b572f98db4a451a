// SPDX-License-Identifier: Apache-2.0
// The translation is given, so that all its tokens go through the decoder at once, pairs of like lengths together.
#include "weft/tasks/sequences/align.h"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/core/error.h"
#include "weft/core/interrupt.h"
#include "weft/core/progress.h"
#include "weft/core/system/option_name.h"
#include "weft/core/work/pieces.h"
#include "weft/generation/settings/read_settings.h"
#include "weft/layers/attention/cross_attention.h"
#include "weft/tasks/sequences/languages.h"
#include "weft/tasks/sequences/sequence_model.h"
#include "weft/tasks/text_too_long.h"
#include "weft/text/pair/word_ids.h"
#include "weft/training/precision.h"

namespace weft::tasks {
namespace {

// Numbers of the weights that are in memory at once: 256 MiB.
constexpr std::int64_t kMostWeights = std::int64_t{1} << 26;

AlignmentSite resolved_site(AlignmentSite site, const models::EncoderDecoderConfig& config, const std::string& name) {
  const std::int64_t layers = config.decoder_layers;
  const std::int64_t heads = config.decoder_attention_heads;
  if (site.layer < 0 && site.heads.empty() && !site.shift && config.alignment_layer >= 0) {
    return {.layer = config.alignment_layer, .heads = {config.alignment_head}};
  }
  if (site.layer < 0) {
    site.layer = site.shift ? (layers - 1) / 2 : std::max<std::int64_t>(0, layers - 2);
  }
  require(site.layer < layers, name, ": the decoder has layers 0 to ", layers - 1, ", but ", option("layer"), " is ",
          site.layer);
  for (const std::int64_t head : site.heads) {
    require(std::count(site.heads.begin(), site.heads.end(), head) == 1, name, ": ", option("heads"), " names head ",
            head, " twice");
    require(head >= 0 && head < heads, name, ": a layer of the decoder has heads 0 to ", heads - 1, ", but ",
            option("heads"), " names ", head);
  }
  return site;
}

std::int64_t length_of(const Ids& ids) { return static_cast<std::int64_t>(ids.size()); }

/// A pair as the model is shown it.
struct ShownPair {
  text::WordIds source;
  text::WordIds target;
  std::string name;
  Ids decoder_ids;        ///< the start, and the target up to its last word
  bool too_long = false;  ///< and left out

  bool is_run() const { return !source.words.empty() && !decoder_ids.empty() && !too_long; }
};

class Alignment {
 public:
  Alignment(AlignModel& model, const BatchLimits& limits) : model_(model), limits_(limits) {}

  std::vector<AlignedPair> run(std::span<const Document> pairs) {
    for (const Document& pair : pairs) {
      shown_.push_back(read(pair));
      results_.push_back({shown_.back().source.words,
                          shown_.back().target.words,
                          {},
                          length_of(shown_.back().source.ids),
                          length_of(shown_.back().target.ids),
                          shown_.back().source.one_by_one || shown_.back().target.one_by_one,
                          shown_.back().too_long});
      end_piece();
    }
    run_batches();
    return std::move(results_);
  }

 private:
  ShownPair read(const Document& pair) const {
    const models::EncoderDecoderConfig& config = model_.model->config();
    ShownPair shown;
    shown.name = pair.name;
    shown.source = words_of(pair.first, text::Side::kSource, pair.name, config.vocab_size);
    shown.target = words_of(pair.second.value_or(""), text::Side::kTarget, pair.name, config.target_vocab_size());
    const Ids& places = shown.target.word;
    const auto last = std::find_if(places.rbegin(), places.rend(), [](std::int64_t word) { return word >= 0; });
    // The step that writes the last word reads the token before it; the next step reads that word.
    const std::int64_t needed = std::distance(last, places.rend()) + (model_.site.shift ? 1 : 0);
    if (last != places.rend()) {
      shown.decoder_ids = {model_.start};
      shown.decoder_ids.insert(shown.decoder_ids.end(), shown.target.ids.begin(),
                               shown.target.ids.begin() + needed - 1);
    }
    const bool source_fits = fits(pair.name, "source", length_of(shown.source.ids), model_.texts.longest);
    const bool target_fits = fits(pair.name, "target", length_of(shown.decoder_ids), config.max_target_positions);
    shown.too_long = !source_fits || !target_fits;
    return shown;
  }

  text::WordIds words_of(const std::string& text, text::Side side, const std::string& name,
                         std::int64_t vocabulary) const {
    if (side == text::Side::kSource) {
      check_own_code(model_.texts, text, name);
    }
    text::WordIds read;
    try {
      read = text::read_words(*model_.texts.tokenizer, text, side, before(text, side));
    } catch (const Error& error) {
      throw Error(error.kind(), concat(name, ": ", error.what()), error.hint());
    }
    model_.texts.tokenizer->check_rows(read.ids, side, vocabulary, model_.texts.name);
    return read;
  }

  // The language code, unless the text begins with one, which is then its first word.
  std::string before(const std::string& text, text::Side side) const {
    const std::vector<std::string> codes = model_.texts.tokenizer->language_codes();
    const std::string own = own_code(text, codes);
    if (side == text::Side::kTarget || codes.empty() || (!own.empty() && text.starts_with(own))) {
      return {};
    }
    require(!model_.code.empty(), model_.texts.name, " writes several languages: name one with ", option("target_lang"),
            "; it has ", [&] { return some_codes(codes); });
    return model_.code;
  }

  bool fits(const std::string& name, const char* side, std::int64_t tokens, std::int64_t longest) const {
    if (tokens > longest && !model_.skip_long) {
      throw TextTooLong(
          concat(name, ": the ", side, " has ", tokens, " tokens, but ", model_.texts.name, " reads ", longest),
          concat("align shorter texts, sentence by sentence; ", option("skip_long"),
                 " leaves such pairs without links"));
    }
    return tokens <= longest;
  }

  void run_batches() {
    const c10::InferenceMode no_graph;
    const training::AutocastGuard autocast(model_.texts.products);
    const InterruptGuard guard;
    std::vector<std::int64_t> lengths;  // of the pairs that are run
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      if (shown_[i].is_run()) {
        lengths.push_back(length_of(shown_[i].source.ids) + length_of(shown_[i].decoder_ids));
        numbers.push_back(i);
      }
    }
    const std::int64_t total = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    ProgressBar bar("tokens", static_cast<double>(total));
    std::int64_t done = 0;
    for (const std::vector<std::size_t>& batch : batches_by_length(lengths, limits_)) {
      std::vector<std::size_t> rows;
      for (const std::size_t place : batch) {
        if (interrupted()) {
          fail(ErrorKind::kInterrupted, "stopped after ", done, " of ", total, " tokens");
        }
        rows.push_back(numbers[place]);
        if (rows.size() > 1 && weights_of(rows) > kMostWeights) {
          rows.pop_back();
          run_batch(rows);
          rows = {numbers[place]};
        }
        done += lengths[place];
      }
      run_batch(rows);
      bar.update(static_cast<double>(done));
    }
  }

  // Weights are dense, padding included: a long text beside a long translation of another pair is a large table.
  std::int64_t weights_of(const std::vector<std::size_t>& rows) const {
    const auto [source, target] = widths(rows);
    return static_cast<std::int64_t>(rows.size()) * source * target * model_.model->config().decoder_attention_heads;
  }

  std::pair<std::int64_t, std::int64_t> widths(const std::vector<std::size_t>& rows) const {
    std::int64_t source = 0;
    std::int64_t target = 0;
    for (const std::size_t row : rows) {
      source = std::max(source, length_of(shown_[row].source.ids));
      target = std::max(target, length_of(shown_[row].decoder_ids));
    }
    return {source, target};
  }

  void run_batch(const std::vector<std::size_t>& rows) {
    const auto [source, target] = widths(rows);
    const auto count = static_cast<std::int64_t>(rows.size());
    const std::int64_t heads = model_.model->config().decoder_attention_heads;
    constexpr std::int64_t kMostOfOne = 4 * kMostWeights;
    require(weights_of(rows) <= kMostOfOne, shown_[rows.front()].name, ": ", source, " tokens and ", target,
            " of its translation have too many weights in ", heads, " heads; align shorter texts");
    const std::int64_t padding = std::max<std::int64_t>(0, model_.model->config().pad_token_id);
    models::SequencePair pair;
    pair.input_ids = at::full({count, source}, padding, at::kLong);
    pair.attention_mask = at::zeros({count, source}, at::kLong);
    pair.decoder_input_ids = at::full({count, target}, padding, at::kLong);
    for (std::int64_t row = 0; row < count; ++row) {
      const ShownPair& shown = shown_[rows[static_cast<std::size_t>(row)]];
      const auto place = [&](const at::Tensor& tensor) {
        return tensor.data_ptr<std::int64_t>() + row * tensor.size(1);
      };
      std::copy(shown.source.ids.begin(), shown.source.ids.end(), place(pair.input_ids));
      std::copy(shown.decoder_ids.begin(), shown.decoder_ids.end(), place(pair.decoder_input_ids));
      std::fill_n(place(pair.attention_mask), shown.source.ids.size(), 1);
    }
    pair.weights = std::make_shared<layers::CrossWeights>(layers::CrossWeights{.layer = model_.site.layer});
    model_.model->hidden_states(pair);
    at::Tensor weights = pair.weights->weights.to(at::kCPU);  // [B, H, N, S]
    if (!model_.site.heads.empty()) {
      weights = weights.index_select(1, at::tensor(model_.site.heads, at::kLong));
    }
    weights = weights.to(at::kFloat).mean(1).contiguous();  // [B, N, S]
    for (std::int64_t row = 0; row < count; ++row) {
      link_words(rows[static_cast<std::size_t>(row)], weights.const_data_ptr<float>() + row * target * source, source);
    }
  }

  // `weights` [N, S] of one pair, S a row's stride.
  void link_words(std::size_t number, const float* weights, std::int64_t stride) {
    const ShownPair& shown = shown_[number];
    const Ids& source = shown.source.word;
    const Ids& target = shown.target.word;
    const std::int64_t shift = model_.site.shift ? 1 : 0;
    for (std::int64_t token = 0; token + shift < length_of(shown.decoder_ids); ++token) {
      const std::int64_t word = target[static_cast<std::size_t>(token)];
      if (word < 0) {
        continue;
      }
      const float* row = weights + (token + shift) * stride;
      std::int64_t best = -1;
      std::map<std::int64_t, double> shares;  // of each source word
      for (std::int64_t key = 0; key < length_of(source); ++key) {
        const std::int64_t source_word = source[static_cast<std::size_t>(key)];
        if (source_word < 0) {
          continue;
        }
        if (!std::isfinite(row[key])) {
          fail(ErrorKind::kNumeric, shown.name, ": ", model_.texts.name,
               " gives attention weights that are not finite");
        }
        shares[source_word] += static_cast<double>(row[key]);
        // A row without edges is zero and links nothing.
        best = row[key] > 0 && (best < 0 || row[key] > row[best]) ? key : best;
      }
      if (best >= 0) {
        const std::int64_t linked = source[static_cast<std::size_t>(best)];
        double& probability = results_[number].links[{linked, word}];
        probability = std::max(probability, std::min(1.0, shares[linked]));
      }
    }
  }

  AlignModel& model_;
  BatchLimits limits_;
  std::vector<ShownPair> shown_;
  std::vector<AlignedPair> results_;
};

void require_plain_frames(const SequenceModel& texts) {
  if (texts.tokenizer->framed_languages() != nullptr) {
    fail(ErrorKind::kUnsupported, texts.name,
         ": its texts name their languages by tokens, and an alignment of such texts is not there");
  }
}

void require_left_to_right(const SequenceModel& texts) {
  require(!texts.right_to_left, texts.name, ": the model writes from right to left, and alignments are read of models ",
          "that write from left to right");
}

}  // namespace

AlignModel open_align_model(const checkpoint::OpenedModel& directory, const AlignOptions& options) {
  AlignModel opened;
  opened.texts = describe_sequence_model(directory);
  opened.texts.products = options.products;
  require_plain_frames(opened.texts);
  require_left_to_right(opened.texts);
  const models::EncoderDecoderConfig config = checkpoint::load_encoder_decoder_config(directory);
  opened.site = resolved_site(options.site, config, opened.texts.name);
  // As it translates: generation_config.json first.
  const generation::GenerationConfig settings = generation::read_settings(directory);
  opened.start = generation::start_token(settings, opened.texts.name);
  if (opened.start >= config.target_vocab_size()) {
    fail(ErrorKind::kArgument, generation::file_of_setting(directory.path(), "decoder_start_token_id"),
         ": a target starts with token ", opened.start, ", but the model has ", config.target_vocab_size(), " tokens");
  }
  opened.skip_long = options.skip_long;
  const std::string code = language_code(opened.texts, options.source_lang, options.target_lang).value_or("");
  opened.code = code.empty() ? code : code + " ";
  opened.model = checkpoint::load_encoder_decoder(directory, options.load);
  return opened;
}

AlignModel align_model(const SequenceModel& texts) {
  require_plain_frames(texts);
  require_left_to_right(texts);
  const WritingModel writes = writing_model(*texts.writer);
  AlignModel opened{.texts = texts, .model = writes.model, .start = writes.start};
  opened.site = resolved_site({}, opened.model->config(), texts.name);
  return opened;
}

metrics::AlignmentLinks AlignedPair::link_set() const {
  metrics::AlignmentLinks set;
  for (const auto& [link, probability] : links) {
    set.insert(link);
  }
  return set;
}

std::vector<AlignedPair> align(AlignModel& model, std::span<const Document> pairs, const BatchLimits& limits) {
  return Alignment(model, limits).run(pairs);
}

}  // namespace weft::tasks
