// SPDX-License-Identifier: Apache-2.0
// Parts of equal likelihood do for both BART's spans and T5's.
#include "weft/text/noise/token_noise.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft::text {
namespace {

void add_ids(NoiseIds& ids, std::span<const std::int64_t> more) { ids.insert(ids.end(), more.begin(), more.end()); }

// Lengths of spans that hold `tokens` tokens together, and how many spans of none were drawn beside them.
struct SpanLengths {
  std::vector<std::size_t> lengths;
  std::size_t empty = 0;
};

SpanLengths drawn_lengths(std::size_t tokens, double mean, NoiseDraws& draws) {
  SpanLengths spans;
  for (std::size_t left = tokens; left > 0;) {
    const std::size_t length = std::min(draws.poisson(mean), left);
    if (length == 0) {
      ++spans.empty;
    } else {
      spans.lengths.push_back(length);
      left -= length;
    }
  }
  return spans;
}

// Tokens in front of each span and behind the last one: at least one between two of them.
std::vector<std::size_t> tokens_between(std::size_t others, std::size_t spans, NoiseDraws& draws) {
  std::vector<std::size_t> between = draws.parts_of(others + 2, spans + 1);
  --between.front();
  --between.back();
  return between;
}

}  // namespace

NoiseIds masked_tokens(std::span<const std::int64_t> ids, double share, std::int64_t mask, NoiseDraws& draws) {
  NoiseIds masked(ids.begin(), ids.end());
  for (std::int64_t& id : masked) {
    id = draws.unit() < share ? mask : id;
  }
  return masked;
}

NoiseIds deleted_tokens(std::span<const std::int64_t> ids, double share, NoiseDraws& draws) {
  NoiseIds left;
  for (const std::int64_t id : ids) {
    if (!(draws.unit() < share)) {
      left.push_back(id);
    }
  }
  if (left.empty() && !ids.empty()) {
    left.push_back(ids[draws.below(ids.size())]);
  }
  return left;
}

NoiseIds filled_in(std::span<const std::int64_t> ids, const Infilling& how, NoiseDraws& draws) {
  require(how.most >= ids.size(), "a text of ", ids.size(), " tokens does not fit into ", how.most);
  const auto wanted = static_cast<std::size_t>(std::ceil(how.share * static_cast<double>(ids.size())));
  SpanLengths spans = drawn_lengths(std::min(wanted, ids.size()), how.mean, draws);
  // More spans than places for them: the two last become one.
  const std::size_t others = ids.size() - std::min(wanted, ids.size());
  while (spans.lengths.size() > others + 1) {
    const std::size_t last = spans.lengths.back();
    spans.lengths.pop_back();
    spans.lengths.back() += last;
  }
  NoiseIds filled;
  if (spans.lengths.empty()) {
    add_ids(filled, ids);
  } else {
    const std::vector<std::size_t> between = tokens_between(others, spans.lengths.size(), draws);
    std::size_t at = 0;
    for (std::size_t span = 0; span < spans.lengths.size(); ++span) {
      add_ids(filled, ids.subspan(at, between[span]));
      filled.push_back(how.mask);
      at += between[span] + spans.lengths[span];
    }
    add_ids(filled, ids.subspan(at));
  }
  for (std::size_t empty = 0; empty < spans.empty && filled.size() < how.most; ++empty) {
    const std::size_t place = draws.below(filled.size() + 1);
    filled.insert(filled.begin() + static_cast<std::ptrdiff_t>(place), how.mask);
  }
  return filled;
}

NoiseIds turned_round(std::span<const std::int64_t> ids, NoiseDraws& draws) {
  NoiseIds turned(ids.begin(), ids.end());
  if (!turned.empty()) {
    std::rotate(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>(draws.below(turned.size())), turned.end());
  }
  return turned;
}

NoiseIds permuted_sentences(std::span<const std::int64_t> ids, std::span<const std::size_t> ends, NoiseDraws& draws) {
  require(std::is_sorted(ends.begin(), ends.end()) && (ends.empty() ? 0 : ends.back()) == ids.size(),
          "the sentences of a text of ", ids.size(), " tokens must end with it, in order");
  std::vector<std::size_t> order(ends.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  draws.shuffle(order);
  NoiseIds permuted;
  for (const std::size_t sentence : order) {
    const std::size_t begin = sentence == 0 ? 0 : ends[sentence - 1];
    add_ids(permuted, ids.subspan(begin, ends[sentence] - begin));
  }
  return permuted;
}

SpanCounts span_counts(std::size_t tokens, double share, double mean) {
  require(tokens >= 2, "spans are hidden in texts of two tokens or more, found ", tokens);
  // A half becomes the even number, as TensorFlow rounds in T5's program.
  const auto wanted = static_cast<std::size_t>(std::nearbyint(share * static_cast<double>(tokens)));
  const std::size_t hidden = std::clamp(wanted, std::size_t{1}, tokens - 1);
  const auto spans = static_cast<std::size_t>(std::nearbyint(static_cast<double>(hidden) / mean));
  return {hidden, std::clamp(spans, std::size_t{1}, std::min(hidden, tokens - hidden))};
}

NoisedText hidden_spans(std::span<const std::int64_t> ids, const SpanCounts& counts,
                        std::span<const std::int64_t> sentinels, NoiseDraws& draws) {
  require(counts.hidden >= 1 && counts.hidden < ids.size(), "cannot hide ", counts.hidden, " of ", ids.size(),
          " tokens");
  require(counts.spans <= sentinels.size(), "a text of ", ids.size(), " tokens has ", counts.spans,
          " hidden spans, more than the ", sentinels.size(), " sentinels of the vocabulary");
  const std::vector<std::size_t> hidden = draws.parts_of(counts.hidden, counts.spans);
  const std::vector<std::size_t> others = draws.parts_of(ids.size() - counts.hidden, counts.spans);
  NoisedText text;
  std::size_t at = 0;
  for (std::size_t span = 0; span < counts.spans; ++span) {
    add_ids(text.source, ids.subspan(at, others[span]));
    text.source.push_back(sentinels[span]);
    text.target.push_back(sentinels[span]);
    add_ids(text.target, ids.subspan(at + others[span], hidden[span]));
    at += others[span] + hidden[span];
  }
  return text;
}

}  // namespace weft::text
