// SPDX-License-Identifier: Apache-2.0
// Only the weights of links are looked at: the softmax over the others lies in them already.
#include "weft/fine_tuning/pairs/alignment_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <map>
#include <set>

#include "weft/attention/accumulation.h"
#include "weft/core/error.h"

namespace weft::fine_tuning {
namespace {

// The smallest weight with a gradient: its logarithm is finite in float32 and bfloat16.
constexpr double kSmallestWeight = 1e-30;

/// The tokens of each word that are below `end`.
std::map<std::int64_t, std::vector<std::int32_t>> tokens_by_word(const text::WordIds& text, std::int64_t end) {
  std::map<std::int64_t, std::vector<std::int32_t>> tokens;
  for (std::int64_t token = 0; token < std::min<std::int64_t>(end, std::ssize(text.word)); ++token) {
    tokens[text.word[static_cast<std::size_t>(token)]].push_back(static_cast<std::int32_t>(token));
  }
  return tokens;
}

/// The drawn tokens that token `token` went to, first and last.
std::pair<std::int64_t, std::int64_t> range_of(const text::DrawnTokens* drawn, std::int32_t token) {
  const auto place = static_cast<std::size_t>(token);
  return drawn == nullptr || place >= drawn->first.size() ? std::pair<std::int64_t, std::int64_t>{token, token}
                                                          : std::pair{drawn->first[place], drawn->last[place]};
}

}  // namespace

std::vector<TokenLink> token_links(const metrics::AlignmentLinks& links, const text::WordIds& source,
                                   const text::WordIds& target, std::int64_t longest_source,
                                   std::int64_t longest_target) {
  auto sources = tokens_by_word(source, longest_source);
  auto targets = tokens_by_word(target, longest_target);
  std::vector<TokenLink> found;
  for (const auto& [source_word, target_word] : links) {
    for (const std::int32_t target_token : targets[target_word]) {
      for (const std::int32_t source_token : sources[source_word]) {
        found.push_back({target_token, source_token});
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<TokenLink> drawn_links(std::span<const TokenLink> links, const text::DrawnTokens* source,
                                   const text::DrawnTokens* target) {
  std::set<TokenLink> found;  // tokens that became one are linked once
  for (const TokenLink& link : links) {
    const auto [first_target, last_target] = range_of(target, link.target);
    const auto [first_source, last_source] = range_of(source, link.source);
    for (std::int64_t t = first_target; t <= last_target; ++t) {
      for (std::int64_t s = first_source; s <= last_source; ++s) {
        found.insert({static_cast<std::int32_t>(t), static_cast<std::int32_t>(s)});
      }
    }
  }
  return {found.begin(), found.end()};
}

at::Tensor alignment_loss(const at::Tensor& weights, std::int64_t head, std::span<const PairRow> rows,
                          std::int64_t tokens) {
  const std::int64_t targets = weights.size(2);
  const std::int64_t sources = weights.size(3);
  std::vector<std::int64_t> places;
  std::vector<double> shares;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::vector<TokenLink>& links = rows[row].links;
    for (std::size_t begin = 0, end = 0; begin < links.size(); begin = end) {
      while (end < links.size() && links[end].target == links[begin].target) {
        const auto [target, source] = links[end++];
        require(target >= 0 && target < targets && source >= 0 && source < sources, "alignment_loss: the link from ",
                source, " to ", target, " is outside of weights ", weights.sizes());
        places.push_back((static_cast<std::int64_t>(row) * targets + target) * sources + source);
      }
      shares.resize(places.size(), 1.0 / static_cast<double>(end - begin));
    }
  }
  const at::Tensor exact = attention::at_least_float(weights.select(1, head).flatten());
  const at::Tensor linked = exact.index_select(0, at::tensor(places, at::kLong).to(weights.device()));
  const at::Tensor parts = at::tensor(shares, at::kDouble).to(linked.options().requires_grad(false));
  return (parts * linked.clamp_min(kSmallestWeight).log()).sum() * (-1.0 / static_cast<double>(tokens));
}

}  // namespace weft::fine_tuning
