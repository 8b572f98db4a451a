// SPDX-License-Identifier: Apache-2.0
// Forward sums over all segmentations, then a path drawn from the end.
#include "weft/text/sampling/lattice.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::text {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

}  // namespace

Pieces::Pieces(const formats::Json& model) {
  for (const formats::Json& piece : model.at("vocab")) {
    texts_.push_back(piece.at(0).get<std::string>());
    scores_.push_back(piece.at(1).get<double>());
    longest_ = std::max(longest_, texts_.back().size());
  }
  for (std::size_t id = 0; id < texts_.size(); ++id) {
    ids_.try_emplace(texts_[id], static_cast<std::int64_t>(id));
  }
  if (model.contains("unk_id") && model.at("unk_id").is_number_integer()) {
    unknown_ = model.at("unk_id").get<std::int64_t>();
  }
}

std::vector<Pieces::Edge> Pieces::ending_at(std::string_view word, std::size_t end, double alpha,
                                            const std::vector<double>& log_sums) const {
  std::vector<Edge> edges;
  for (std::size_t begin = end - std::min(end, longest_); begin < end; ++begin) {
    const auto found = ids_.find(word.substr(begin, end - begin));
    if (log_sums[begin] != kNever && found != ids_.end() && found->second != unknown_) {
      edges.push_back(
          {found->second, begin, log_sums[begin] + alpha * scores_[static_cast<std::size_t>(found->second)]});
    }
  }
  return edges;
}

std::vector<SizedToken> Pieces::segment(std::string_view word, double alpha, Draws& draws) const {
  // log_sums[i]: log of the sum over all segmentations of the first i bytes. A piece is whole characters, so that no
  // segmentation ends within one.
  std::vector<double> log_sums(word.size() + 1, kNever);
  log_sums[0] = 0.0;
  for (std::size_t end = 1; end <= word.size(); ++end) {
    double largest = kNever;
    const std::vector<Edge> edges = ending_at(word, end, alpha, log_sums);
    for (const Edge& edge : edges) {
      largest = std::max(largest, edge.weight);
    }
    double sum = 0.0;
    for (const Edge& edge : edges) {
      sum += std::exp(edge.weight - largest);
    }
    log_sums[end] = edges.empty() ? kNever : largest + std::log(sum);
  }
  std::vector<SizedToken> tokens;
  for (std::size_t end = word.size(); end > 0 && log_sums[word.size()] != kNever;) {
    const std::vector<Edge> edges = ending_at(word, end, alpha, log_sums);
    double left = draws.next();
    std::size_t chosen = 0;
    // The last edge takes what rounding leaves.
    for (; chosen + 1 < edges.size(); ++chosen) {
      left -= std::exp(edges[chosen].weight - log_sums[end]);
      if (left < 0) {
        break;
      }
    }
    tokens.push_back({edges[chosen].id, static_cast<std::int64_t>(end - edges[chosen].begin)});
    end = edges[chosen].begin;
  }
  std::reverse(tokens.begin(), tokens.end());
  return tokens;
}

}  // namespace weft::text
