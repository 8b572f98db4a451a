// SPDX-License-Identifier: Apache-2.0
// The heuristic in the order of its published pseudocode: a link that was added is grown from in the same pass.
#include "weft/metrics/translation/symmetrize.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"

namespace weft::metrics {
namespace {

/// Links with the words that have one.
class Grown {
 public:
  explicit Grown(const AlignmentLinks& links) {
    for (const AlignmentLink& link : links) {
      add(link);
    }
  }

  bool has_source(const AlignmentLink& link) const { return sources_.contains(link.first); }
  bool has_target(const AlignmentLink& link) const { return targets_.contains(link.second); }
  void add(const AlignmentLink& link) {
    links_.insert(link);
    sources_.insert(link.first);
    targets_.insert(link.second);
  }
  const AlignmentLinks& links() const noexcept { return links_; }

 private:
  AlignmentLinks links_;
  std::set<std::int64_t> sources_;
  std::set<std::int64_t> targets_;
};

AlignmentLinks either(const AlignmentLinks& forward, const AlignmentLinks& backward) {
  AlignmentLinks links = forward;
  links.insert(backward.begin(), backward.end());
  return links;
}

AlignmentLinks both(const AlignmentLinks& forward, const AlignmentLinks& backward) {
  AlignmentLinks links;
  std::set_intersection(forward.begin(), forward.end(), backward.begin(), backward.end(),
                        std::inserter(links, links.end()));
  return links;
}

// Target words are the outer loop.
bool target_first(const AlignmentLink& left, const AlignmentLink& right) {
  return left.second != right.second ? left.second < right.second : left.first < right.first;
}

// The pseudocode goes over all places again and again until a pass adds nothing. A place has to be looked from once
// only: what it cannot add then it can never add, since words do not lose their links. `later` are the places that this
// pass has gone by.
void grow_diagonally(Grown& grown, const AlignmentLinks& all) {
  constexpr AlignmentLink kNeighbours[] = {{-1, 0}, {0, -1}, {1, 0}, {0, 1}, {-1, -1}, {-1, 1}, {1, -1}, {1, 1}};
  using Places = std::set<AlignmentLink, decltype(&target_first)>;
  Places now(grown.links().begin(), grown.links().end(), target_first);
  Places later(target_first);
  for (; !now.empty(); now.swap(later)) {
    while (!now.empty()) {
      const AlignmentLink place = *now.begin();
      now.erase(now.begin());
      for (const AlignmentLink& step : kNeighbours) {
        const AlignmentLink beside{place.first + step.first, place.second + step.second};
        if (all.contains(beside) && (!grown.has_source(beside) || !grown.has_target(beside))) {
          grown.add(beside);
          (target_first(place, beside) ? now : later).insert(beside);
        }
      }
    }
  }
}

void add_rest(Grown& grown, const AlignmentLinks& direction, bool both_free) {
  std::vector<AlignmentLink> places(direction.begin(), direction.end());
  std::sort(places.begin(), places.end(), target_first);
  for (const AlignmentLink& link : places) {
    const bool source = !grown.has_source(link);
    const bool target = !grown.has_target(link);
    if (both_free ? source && target : source || target) {
      grown.add(link);
    }
  }
}

}  // namespace

AlignmentLinks symmetrized(const AlignmentLinks& forward, const AlignmentLinks& backward, std::string_view way) {
  require(
      std::find(kSymmetrizations.begin(), kSymmetrizations.end(), way) != kSymmetrizations.end(),
      "two alignments become one by ",
      [&] { return joined(kSymmetrizations, ", ", [](std::string_view name) { return name; }); }, "; found ",
      Quoted(way));
  if (way == "union") {
    return either(forward, backward);
  }
  Grown grown(both(forward, backward));
  if (way == "intersect") {
    return grown.links();
  }
  grow_diagonally(grown, either(forward, backward));
  if (way != "grow-diag") {
    const bool both_free = way == "grow-diag-final-and";
    add_rest(grown, forward, both_free);
    add_rest(grown, backward, both_free);
  }
  return grown.links();
}

}  // namespace weft::metrics
