// SPDX-License-Identifier: Apache-2.0
// Texts lie one behind the other in chunks: three strings a pair would take three allocations and twice the memory.
#include "weft/fine_tuning/pairs/pair_texts.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"

namespace weft::fine_tuning {

PairTexts::PairTexts(const PairConfig& config, bool held_out)
    : config_(config),
      held_out_(held_out),
      given_(held_out ? !config.eval_source.empty() || !config.eval_data.empty() || !config.eval_text.empty() : true),
      reader_(given_ ? std::make_unique<PairReader>(config_, held_out) : nullptr) {}

void PairTexts::keep(const TextPair& pair) {
  constexpr std::size_t kChunk = std::size_t{8} << 20;
  const std::size_t size = pair.source.size() + pair.target.size() + pair.where.size();
  if (chunks_.empty() || chunks_.back().capacity() - chunks_.back().size() < size) {
    chunks_.emplace_back().reserve(std::max(kChunk, size));
  }
  std::string& chunk = chunks_.back();
  Place place{.chunk = chunks_.size() - 1, .begin = chunk.size()};
  std::size_t side = 0;
  for (const std::string* text : {&pair.source, &pair.target, &pair.where}) {
    chunk += *text;
    place.ends[side++] = chunk.size();
  }
  if (pair.links) {
    links_.insert(links_.end(), pair.links->begin(), pair.links->end());
    place.links_end = links_.size();
  }
  places_.push_back(place);
}

std::int64_t PairTexts::read_ahead(std::size_t most_bytes) {
  ProgressBar bar(concat("reading ", name(), " pairs"), 0);
  std::int64_t count = 0;
  std::size_t bytes = 0;
  kept_ = true;
  TextPair pair;
  while (read(pair)) {
    bar.update(static_cast<double>(++count));
    bytes += pair.source.size() + pair.target.size() + pair.where.size() + sizeof(Place) +
             (pair.links ? pair.links->size() * sizeof(metrics::AlignmentLink) : 0);
    if (kept_ && bytes > most_bytes) {
      kept_ = false;
      chunks_ = {};
      places_ = {};
      links_ = {};
    } else if (kept_) {
      keep(pair);
    }
  }
  return count;
}

bool PairTexts::read(TextPair& pair) {
  if (!given_) {
    return false;
  }
  if (!reader_) {
    reader_ = std::make_unique<PairReader>(config_, held_out_);
  }
  const bool found = reader_->next(pair);
  if (!found) {
    report_ = reader_->report();
    reader_.reset();
    if (report_.records == 0) {
      const std::vector<std::string>& data = held_out_ ? config_.eval_data : config_.train_data;
      const std::vector<std::string>& texts = held_out_ ? config_.eval_text : config_.train_text;
      const std::vector<std::string>& sources = held_out_ ? config_.eval_source : config_.train_source;
      const std::vector<std::string>& files = data.empty() ? (makes_noise(config_) ? texts : sources) : data;
      fail(ErrorKind::kFormat, "the ", name(), " data have no ", makes_noise(config_) ? "text" : "pair", ": ",
           quoted_list(files, 3));
    }
  }
  return found;
}

bool PairTexts::next(TextPair& pair) {
  if (!kept_) {
    return read(pair);
  }
  if (cursor_ == places_.size()) {
    cursor_ = 0;
    return false;
  }
  const std::size_t links_begin = cursor_ == 0 ? 0 : places_[cursor_ - 1].links_end.value_or(0);
  const Place& place = places_[cursor_++];
  std::size_t begin = place.begin;
  std::size_t side = 0;
  for (std::string* text : {&pair.source, &pair.target, &pair.where}) {
    text->assign(chunks_[place.chunk], begin, place.ends[side] - begin);
    begin = place.ends[side++];
  }
  pair.links.reset();
  if (place.links_end) {  // then all pairs have links
    const auto link = [&](std::size_t at) { return links_.begin() + static_cast<std::ptrdiff_t>(at); };
    pair.links.emplace(link(links_begin), link(*place.links_end));
  }
  return true;
}

}  // namespace weft::fine_tuning
