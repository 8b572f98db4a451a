// SPDX-License-Identifier: Apache-2.0
// Sentences are tokenised one by one with the blanks before them, so that together they are the text.
#include "weft/fine_tuning/denoising/denoiser.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/core/system/option_name.h"
#include "weft/metrics/summary/sentence_scores.h"
#include "weft/text/noise/gap_sentences.h"
#include "weft/text/sentences/sentences.h"

namespace weft::fine_tuning {

struct Denoiser::Sentence {
  std::string text;
  std::vector<std::int64_t> ids;
};

namespace {

constexpr double kScoreSteps = 1e6;  // scores of sentences are stored as whole numbers

// "nois" in ASCII: draws are independent of the order of the data and of dropout.
constexpr std::uint64_t kNoiseStream = 0x6E6F6973;

std::int64_t mask_of(const text::PairTokenizer& tokenizer, bool of_sentences) {
  // Pegasus has two masks, the first one for sentences.
  for (const std::string_view name : {std::string_view("<mask_1>"), std::string_view("<mask>"),
                                      std::string_view("[MASK]"), std::string_view("<mask_2>")}) {
    const auto id = tokenizer.find(name, text::Side::kSource);
    if (id && (of_sentences || name != "<mask_1>")) {
      return *id;
    }
  }
  throw Error(ErrorKind::kArgument, concat(option("noise"), ": the vocabulary has no token for a mask"),
              "spans are hidden with the sentinels of T5's vocabularies");
}

std::vector<std::int64_t> sentinels_of(const text::PairTokenizer& tokenizer) {
  std::vector<std::int64_t> sentinels;
  while (const auto id = tokenizer.find(sentinel_name(std::ssize(sentinels)), text::Side::kSource)) {
    sentinels.push_back(*id);
  }
  if (sentinels.empty()) {
    throw Error(ErrorKind::kArgument,
                concat(option("noise"), " spans: the vocabulary has no sentinel ", sentinel_name(0)),
                concat("without ", option("tokenizer"), " and ", option("model"), " a vocabulary is learned that has ",
                       kSentinels));
  }
  return sentinels;
}

std::vector<std::size_t> ends_of(const PairRow& piece) {
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; at < piece.target.size(); at += 2) {
    ends.push_back(static_cast<std::size_t>(piece.target[at]));
  }
  return ends;
}

}  // namespace

std::string sentinel_name(std::int64_t number) { return concat("<extra_id_", number, ">"); }

std::uint64_t noise_key(std::uint64_t seed, std::int64_t step, std::int64_t part, std::int64_t row) {
  const std::uint64_t of_step = random_bits(seed, kNoiseStream, static_cast<std::uint64_t>(step));
  return random_bits(of_step, static_cast<std::uint64_t>(part), static_cast<std::uint64_t>(row));
}

Denoiser::Denoiser(const PairConfig& config, const models::EncoderDecoderConfig& model,
                   const text::PairTokenizer& tokenizer)
    : noise_(config.noise),
      gap_choice_(config.gap_choice),
      share_(config.noise_share > 0 ? config.noise_share : (config.noise == "spans" ? 0.15 : 0.3)),
      span_(config.noise_span),
      score_noise_(config.gap_score_noise),
      frame_(tokenizer.frame()),
      vocabulary_(std::min(model.vocab_size, model.target_vocab_size())) {
  require(tokenizer.shared(), option("noise"), " needs one vocabulary for sources and targets, and the model has two");
  const PairLimits limits = limits_of(config, model);
  const auto room = [&](std::int64_t limit, const char* name) {
    const std::int64_t most = std::min(limit, config.batch_tokens) - frame_.size();
    require(most >= 2, option(name), ": texts of ", std::min(limit, config.batch_tokens),
            " tokens leave no room for two beside special ones");
    return static_cast<std::size_t>(most);
  };
  most_source_ = room(limits.source, "max_source_length");
  most_target_ = room(limits.target, "max_target_length");
  if (noise_ == "spans") {
    sentinels_ = sentinels_of(tokenizer);
  } else if (noise_ != "delete" && noise_ != "permute" && noise_ != "rotate") {
    mask_ = mask_of(tokenizer, noise_ == "gap-sentences");
  }
  for (longest_ = 2; fits(longest_ + 1); ++longest_) {
  }
}

// Whether a piece of so many tokens fits whatever is drawn. What stands for a hidden sentence or span is no longer.
bool Denoiser::fits(std::size_t tokens) const {
  if (noise_ == "spans") {
    const auto [hidden, spans] = text::span_counts(tokens, share_, span_);
    return tokens - hidden + spans <= most_source_ && hidden + spans <= most_target_ && spans <= sentinels_.size();
  }
  return tokens <= most_source_ && (noise_ == "gap-sentences" || tokens <= most_target_);
}

std::vector<Denoiser::Sentence> Denoiser::sentences_of(const std::string& text, const std::string& where,
                                                       const text::PairTokenizer& tokenizer) const {
  const std::size_t most = noise_ == "gap-sentences" ? std::min(longest_, most_target_) : longest_;
  std::vector<Sentence> sentences;
  std::size_t begin = 0;
  for (const text::SentencePlace& place : text::find_sentences(text)) {
    const std::string stretch = text.substr(begin, place.end - begin);
    std::vector<std::int64_t> ids = tokenizer.encode_plain(stretch, text::Side::kSource);
    tokenizer.check_rows(ids, text::Side::kSource, vocabulary_, where);
    for (std::size_t at = 0; at < ids.size(); at += most) {
      const auto first = ids.begin() + static_cast<std::ptrdiff_t>(at);
      const auto size = static_cast<std::ptrdiff_t>(std::min(most, ids.size() - at));
      std::vector<std::int64_t> part(first, first + size);
      std::string words =
          ids.size() <= most ? std::string(place.in(text)) : tokenizer.decode(part, text::Side::kSource);
      sentences.push_back({std::move(words), std::move(part)});
    }
    begin = place.end;
  }
  return sentences;
}

bool Denoiser::can_hide(std::size_t sentences, std::size_t tokens) const {
  return noise_ == "gap-sentences" ? sentences >= 2 : tokens >= (noise_ == "spans" ? 2U : 1U);
}

// Whole numbers, larger ones for sentences that are hidden first; random ones are drawn when a piece is shown.
std::vector<std::int64_t> Denoiser::scores_of(const std::vector<std::string>& sentences) const {
  const auto count = std::ssize(sentences);
  std::vector<std::int64_t> scores(sentences.size());
  const auto counts = gap_choice_.ends_with("uniq") ? metrics::WordCounts::kOnce : metrics::WordCounts::kAll;
  if (noise_ != "gap-sentences" || gap_choice_ == "random") {
    return scores;
  }
  if (gap_choice_ == "lead") {
    for (std::int64_t place = 0; place < count; ++place) {
      scores[static_cast<std::size_t>(place)] = count - place;
    }
  } else if (gap_choice_.starts_with("seq")) {
    std::int64_t rank = 0;
    for (const std::size_t sentence : metrics::greedy_order(sentences, counts)) {
      scores[sentence] = count - rank++;
    }
  } else {
    const std::vector<double> found = metrics::sentence_scores(sentences, counts);
    std::transform(found.begin(), found.end(), scores.begin(),
                   [](double score) { return static_cast<std::int64_t>(std::llround(score * kScoreSteps)); });
  }
  return scores;
}

CutText Denoiser::add(const std::string& text, const std::string& where, const text::PairTokenizer& tokenizer,
                      PairRows& pieces) const {
  CutText cut;
  PairRow piece;
  std::vector<std::string> texts;
  const auto end_piece = [&] {
    if (can_hide(texts.size(), piece.source.size())) {
      const std::vector<std::int64_t> scores = scores_of(texts);
      for (std::size_t sentence = 0; sentence < scores.size(); ++sentence) {
        piece.target[2 * sentence + 1] = scores[sentence];
      }
      pieces.add(piece);
      ++cut.pieces;
    } else if (!piece.source.empty()) {
      ++cut.left_out;
    }
    piece = {};
    texts.clear();
  };
  for (Sentence& sentence : sentences_of(text, where, tokenizer)) {
    if (piece.source.size() + sentence.ids.size() > longest_) {
      end_piece();
    }
    piece.source.insert(piece.source.end(), sentence.ids.begin(), sentence.ids.end());
    piece.target.insert(piece.target.end(), {std::ssize(piece.source), 0});
    texts.push_back(std::move(sentence.text));
  }
  end_piece();
  return cut;
}

text::NoisedText Denoiser::with_gaps(const PairRow& piece, text::NoiseDraws& draws) const {
  const std::vector<std::size_t> ends = ends_of(piece);
  std::vector<double> scores;
  scores.reserve(ends.size());
  for (std::size_t sentence = 0; sentence < ends.size(); ++sentence) {
    scores.push_back(gap_choice_ == "random" ? draws.unit() : static_cast<double>(piece.target[2 * sentence + 1]));
  }
  return text::gap_sentences({piece.source, ends, scores},
                             {.share = share_, .score_noise = score_noise_, .mask = mask_, .most = most_target_},
                             draws);
}

text::NoiseIds Denoiser::restored_from(const PairRow& piece, text::NoiseDraws& draws) const {
  const text::Infilling infilling{.share = share_, .mean = span_, .mask = mask_, .most = most_source_};
  if (noise_ == "mask") {
    return text::masked_tokens(piece.source, share_, mask_, draws);
  }
  if (noise_ == "delete") {
    return text::deleted_tokens(piece.source, share_, draws);
  }
  if (noise_ == "rotate") {
    return text::turned_round(piece.source, draws);
  }
  if (noise_ == "infill") {
    return text::filled_in(piece.source, infilling, draws);
  }
  const text::NoiseIds permuted = text::permuted_sentences(piece.source, ends_of(piece), draws);
  return noise_ == "permute" ? permuted : text::filled_in(permuted, infilling, draws);
}

text::NoisedText Denoiser::noised(const PairRow& piece, text::NoiseDraws& draws) const {
  if (noise_ == "gap-sentences") {
    return with_gaps(piece, draws);
  }
  if (noise_ == "spans") {
    return text::hidden_spans(piece.source, text::span_counts(piece.source.size(), share_, span_), sentinels_, draws);
  }
  return {restored_from(piece, draws), piece.source};
}

PairRow Denoiser::drawn(const PairRow& piece, std::uint64_t key) const {
  text::NoiseDraws draws(key);
  const text::NoisedText shown = noised(piece, draws);
  return {frame_.around(shown.source), frame_.around(shown.target)};
}

}  // namespace weft::fine_tuning
