// SPDX-License-Identifier: Apache-2.0
// The best sentences, as far as the target has room.
#include "weft/text/noise/gap_sentences.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft::text {
namespace {

std::size_t begin_of(const ScoredText& text, std::size_t sentence) {
  return sentence == 0 ? 0 : text.ends[sentence - 1];
}

}  // namespace

std::vector<std::size_t> chosen_gaps(const ScoredText& text, const GapRule& rule, NoiseDraws& draws) {
  const std::size_t count = text.ends.size();
  require(count >= 2 && text.scores.size() == count, "gap sentences are chosen of two sentences or more, each with a ",
          "score, found ", count, " and ", text.scores.size());
  require(text.ends.back() == text.ids.size() && std::is_sorted(text.ends.begin(), text.ends.end()),
          "the sentences of a text of ", text.ids.size(), " tokens must end with it, in order");
  std::vector<double> scores(text.scores.begin(), text.scores.end());
  if (rule.score_noise > 0) {
    for (double& score : scores) {
      score *= 1.0 + rule.score_noise * (2.0 * draws.unit() - 1.0);
    }
  }
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  const auto wanted = std::clamp(static_cast<std::size_t>(std::llround(rule.share * static_cast<double>(count))),
                                 std::size_t{1}, count - 1);
  std::vector<std::size_t> gaps;
  std::size_t room = rule.most;
  for (const std::size_t sentence : order) {
    const std::size_t tokens = text.ends[sentence] - begin_of(text, sentence);
    if (gaps.size() < wanted && tokens <= room) {
      gaps.push_back(sentence);
      room -= tokens;
    }
  }
  std::sort(gaps.begin(), gaps.end());
  return gaps;
}

NoisedText gap_sentences(const ScoredText& text, const GapRule& rule, NoiseDraws& draws) {
  const std::vector<std::size_t> gaps = chosen_gaps(text, rule, draws);
  require(!gaps.empty(), "no sentence of a text has room in a target of ", rule.most, " tokens");
  NoisedText noised;
  std::size_t next = 0;
  for (std::size_t sentence = 0; sentence < text.ends.size(); ++sentence) {
    const std::size_t begin = begin_of(text, sentence);
    const auto ids = text.ids.subspan(begin, text.ends[sentence] - begin);
    const bool hidden = next < gaps.size() && gaps[next] == sentence;
    NoiseIds& side = hidden ? noised.target : noised.source;
    side.insert(side.end(), ids.begin(), ids.end());
    if (hidden) {
      noised.source.push_back(rule.mask);
      ++next;
    }
  }
  return noised;
}

}  // namespace weft::text
