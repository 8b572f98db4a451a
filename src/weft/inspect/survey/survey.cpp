// SPDX-License-Identifier: Apache-2.0
// A row of 64 queries is searched as the compiler does, and its blocks are counted instead of written down. A row with
// too many blocks is estimated by random descents. Work is counted in questions, not in seconds, so that the same
// question has the same answer on every machine.
#include "weft/inspect/survey/survey.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "weft/core/error.h"
#include "weft/inspect/graph/sample.h"
#include "weft/inspect/survey/descent.h"
#include "weft/pattern/compile/row_compiler.h"

namespace weft::inspect {
namespace {

constexpr std::int64_t kSide = 64;
constexpr double kMostListed = 1 << 25;       // draws for the smallest sample: some seconds
constexpr std::int64_t kFewestRows = 16;      // of a sample
constexpr std::int64_t kMostRows = 512;       // of a sample
constexpr std::int64_t kRowSteps = 1 << 16;   // questions about one row before it is estimated
constexpr double kRowListed = 1 << 17;        // draws of one row before it is estimated
constexpr std::int64_t kDescents = 32;        // of an estimated row
constexpr std::int64_t kDescentsOfLists = 2;  // of one whose keys are drawn or read
constexpr double kBlockCost = 16;             // questions that looking at 64 x 64 pairs is worth
constexpr std::size_t kRemembered = 1 << 16;  // contents of blocks

/// What one row of 64 queries has.
struct RowCount {
  double edges = 0;
  double full = 0;
  double partial = 0;
  double slots = 0;
  double words = 0;

  void add(const RowCount& other, double weight) {
    edges += weight * other.edges;
    full += weight * other.full;
    partial += weight * other.partial;
    slots += weight * other.slots;
    words += weight * other.words;
  }
};

/// The rows of one group of heads.
class GroupSurvey {
 public:
  GroupSurvey(const pattern::Pattern& pattern, const pattern::Site& site)
      : context_(site),
        root_(pattern.root().resolved(context_)),
        cost_(question_cost(root_)),
        listed_(root_.listed_keys(context_)) {}

  const pattern::ListedKeys& listed() const { return listed_; }

  /// The rows of 64 queries with one that may hold far more than its neighbours: ascending ranges that do not touch.
  std::vector<pattern::Range> odd_rows() const {
    std::vector<pattern::Range> queries;
    root_.odd_queries(context_, queries);
    std::sort(queries.begin(), queries.end(),
              [](const pattern::Range& a, const pattern::Range& b) { return a.begin < b.begin; });
    std::vector<pattern::Range> rows;
    for (const pattern::Range& range : queries) {
      const std::int64_t begin = std::max(range.begin - context_.query_offset, std::int64_t{0});
      const std::int64_t end = std::min(range.end - context_.query_offset, context_.query_length);
      if (begin >= end) {
        continue;
      }
      const pattern::Range found{begin / kSide, pattern::ceil_divide(end, kSide)};
      if (!rows.empty() && found.begin <= rows.back().end) {
        rows.back().end = std::max(rows.back().end, found.end);
      } else {
        rows.push_back(found);
      }
    }
    return rows;
  }

  /// Counts the row, and adds what that cost to `work`. `is_exact` becomes false where the row was estimated.
  RowCount row(std::int64_t row, double& work, bool& is_exact) {
    const std::int64_t begin = row * kSide;
    query_ = {context_.query_offset + begin, context_.query_offset + std::min(begin + kSide, context_.query_length)};
    RowCount count;
    std::int64_t steps = kRowSteps;
    blocks_seen_ = 0;
    const bool searched = listed_.row * kSide <= kRowListed &&
                          pattern::walk_row(
                              {root_, context_, query_, kSide}, {0, pattern::ceil_divide(context_.key_length, kSide)},
                              steps, [&](const pattern::Range& blocks, int) { add_full(count, blocks, 1); },
                              [&](std::int64_t block) { count.add(block_at(block), 1); });
    if (searched) {
      work += static_cast<double>(kRowSteps - steps) * cost_ + blocks_seen_ * kBlockCost * cost_ +
              kDrawCost * listed_.row * kSide;
      return count;
    }
    is_exact = false;
    const std::int64_t ways = listed_.row > 0 ? kDescentsOfLists : kDescents;
    work +=
        (static_cast<double>(kRowSteps - std::max<std::int64_t>(steps, 0)) + static_cast<double>(ways) * kDescentCost) *
            cost_ +
        kDrawCost * static_cast<double>(ways) * listed_.least * kSide;
    return estimated(row, ways);
  }

 private:
  RowCount estimated(std::int64_t row, std::int64_t ways) {
    RowCount count;
    const double share = 1 / static_cast<double>(ways);
    for (std::int64_t each = 0; each < ways; ++each) {
      const Descent down{.root = root_, .context = context_, .seed = static_cast<std::uint64_t>(row * ways + each)};
      descend(down, {query_, {0, context_.key_length}}, [&](const PairRange& part, int value, double weight) {
        const pattern::Range blocks{part.key.begin / kSide, pattern::ceil_divide(part.key.end, kSide)};
        if (value == pattern::kMixed) {
          count.add(block_at(blocks.begin), weight * share);
        } else {
          add_full(count, blocks, weight * share);
        }
      });
    }
    return count;
  }

  void add_full(RowCount& count, const pattern::Range& blocks, double weight) const {
    const std::int64_t keys = std::min(blocks.end * kSide, context_.key_length) - blocks.begin * kSide;
    const double pairs = static_cast<double>(query_.size()) * static_cast<double>(keys);
    const auto number = static_cast<double>(blocks.size());
    count.add({pairs, number, 0, pairs, number * static_cast<double>(query_.size())}, weight);
  }

  /// A block by its content, which many blocks share.
  RowCount block_at(std::int64_t block) {
    const pattern::Range keys{block * kSide, std::min((block + 1) * kSide, context_.key_length)};
    if (listed_.row > 0) {
      return counted(keys);
    }
    signature_.assign({query_.size(), keys.size()});
    root_.signature(context_, query_, keys, signature_);
    if (const auto known = known_.find(signature_); known != known_.end()) {
      return known->second;
    }
    const RowCount count = counted(keys);
    if (known_.size() < kRemembered) {
      known_.emplace(signature_, count);
    }
    return count;
  }

  RowCount counted(const pattern::Range& keys) {
    std::array<std::uint64_t, kSide> bits{};
    const auto queries = static_cast<std::size_t>(query_.size());
    root_.rows_bits(context_, query_, keys.begin, static_cast<int>(keys.size()), std::span(bits).first(queries));
    ++blocks_seen_;
    RowCount count;
    for (const std::uint64_t word : std::span(bits).first(queries)) {
      count.edges += static_cast<double>(std::popcount(word));
      count.words += word == 0 ? 0 : 1;
    }
    const double pairs = static_cast<double>(query_.size()) * static_cast<double>(keys.size());
    if (count.edges > 0) {
      count.slots = pairs;
      (count.edges == pairs ? count.full : count.partial) = 1;
    }
    return count;
  }

  pattern::Context context_;
  const pattern::Node& root_;
  double cost_;
  pattern::ListedKeys listed_;
  pattern::Range query_;
  double blocks_seen_ = 0;
  pattern::Signature signature_;
  std::unordered_map<pattern::Signature, RowCount, pattern::SignatureHash> known_;
};

/// Rows of one group.
struct Stretch {
  std::size_t group;
  pattern::Range rows;
};

/// What is known about the rows of some stretches.
struct Total {
  RowCount shown;   ///< over the heads
  RowCount stored;  ///< over the groups
  double variance = 0;
  std::int64_t looked_at = 0;
  bool counts_rows = true;  ///< no row was estimated
  bool is_exact = true;     ///< nor was any left out
};

class Survey {
 public:
  Survey(const pattern::Pattern& pattern, const pattern::Site& site, std::optional<std::int64_t> head, double questions)
      : budget_(questions),
        heads_(equal_heads(pattern, site, head)),
        rows_(pattern::ceil_divide(site.query_length, kSide)) {
    pattern::Site of_group = site;
    std::int64_t shown = 0;
    for (const std::vector<std::int64_t>& heads : heads_) {
      of_group.head = heads.front();
      groups_.emplace_back(pattern, of_group);
      shown += std::ssize(heads);
    }
    pairs_ = static_cast<double>(shown) * static_cast<double>(site.query_length) * static_cast<double>(site.key_length);
    too_many_ =
        concat("pattern: ", shown, shown == 1 ? " head of " : " heads of ", site.query_length, " x ", site.key_length,
               " pairs have more edges than can be counted (2^62); take fewer heads or a ", "shorter length");
    result_.possible_blocks = shown * rows_ * pattern::ceil_divide(site.key_length, kSide);
    result_.groups = std::ssize(groups_);
    check_listed(pattern, site);
  }

  LayoutSurvey run() {
    std::vector<Stretch> odd;
    std::vector<Stretch> even;
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      std::int64_t end = 0;
      for (const pattern::Range& rows : groups_[group].odd_rows()) {
        even.push_back({group, {end, rows.begin}});
        odd.push_back({group, rows});
        end = rows.end;
      }
      even.push_back({group, {end, rows_}});
    }
    const Total first = total_of(odd);
    finish(first, total_of(even));
    return result_;
  }

 private:
  void check_listed(const pattern::Pattern& pattern, const pattern::Site& site) const {
    for (const GroupSurvey& group : groups_) {
      const double least = group.listed().least * kSide * static_cast<double>(std::min(rows_, kFewestRows));
      require(least <= kMostListed * budget_ / kSurveyQuestions, "pattern: ", pattern.to_string(),
              " draws or reads about ", static_cast<std::int64_t>(group.listed().least), " keys for each of ",
              site.query_length,
              " queries, too many to look at even a sample; take fewer keys per query or a shorter length");
    }
  }

  /// First a few rows tell the cost of one; then all are counted where that is cheap, else as many as are affordable.
  Total total_of(const std::vector<Stretch>& stretches) {
    std::int64_t units = 0;
    for (const Stretch& stretch : stretches) {
      units += stretch.rows.size();
    }
    double work = 0;
    const Total pilot = look(stretches, units, std::min(units, kFewestRows), work);
    if (pilot.looked_at == units) {
      return pilot;
    }
    const double each = std::max(work / static_cast<double>(kFewestRows), 1.0);
    const bool cheap = pilot.counts_rows && static_cast<double>(units) * each <= budget_;
    const double affordable = std::clamp(budget_ / each, double{kFewestRows}, double{kMostRows});
    const std::int64_t count = cheap ? units : std::min(units, static_cast<std::int64_t>(affordable) / 2 * 2);
    return look(stretches, units, count, work);
  }

  /// Rows spread evenly over the stretches, each drawn from its own piece of them.
  Total look(const std::vector<Stretch>& stretches, std::int64_t units, std::int64_t count, double& work) {
    Total total;
    const double scale = count == 0 ? 0 : static_cast<double>(units) / static_cast<double>(count);
    auto stretch = stretches.begin();
    std::int64_t before = 0;  // units of the stretches that were passed
    double last = 0;
    for (const std::int64_t unit : sample_positions(units, count)) {
      while (unit - before >= stretch->rows.size()) {
        before += stretch->rows.size();
        ++stretch;
      }
      const RowCount row = groups_[stretch->group].row(stretch->rows.begin + unit - before, work, total.counts_rows);
      const auto heads = static_cast<double>(heads_[stretch->group].size());
      total.shown.add(row, scale * heads);
      total.stored.add(row, scale);
      if (total.looked_at % 2 == 1) {
        total.variance += std::pow(scale * (heads * row.edges - last), 2);
      }
      last = heads * row.edges;
      ++total.looked_at;
    }
    if (total.counts_rows && count > 0) {
      total.variance *= 1 - static_cast<double>(count) / static_cast<double>(units);
    }
    total.is_exact = total.counts_rows && count == units;
    return total;
  }

  void finish(const Total& odd, const Total& even) {
    RowCount shown = odd.shown;
    shown.add(even.shown, 1);
    require(shown.slots < std::ldexp(1.5, 62), too_many_);
    const bool is_exact = odd.is_exact && even.is_exact;
    result_.sampled = is_exact ? 0 : odd.looked_at + even.looked_at;
    result_.edges_error = is_exact ? 0 : 1.96 * std::sqrt(odd.variance + even.variance);
    pattern::LayoutStatistics& layout = result_.layout;
    layout.edges = std::llround(std::min(shown.edges, pairs_));
    layout.density = pairs_ == 0 ? 0 : static_cast<double>(layout.edges) / pairs_;
    layout.full_blocks = std::llround(shown.full);
    layout.partial_blocks = std::llround(shown.partial);
    layout.blocks = layout.full_blocks + layout.partial_blocks;
    layout.slots = std::llround(shown.slots);
    layout.edges_per_slot = shown.slots == 0 ? 0 : shown.edges / shown.slots;
    result_.blocks_stored = odd.stored.full + odd.stored.partial + even.stored.full + even.stored.partial;
    result_.words = odd.stored.words + even.stored.words;
    const bool lists =
        std::any_of(groups_.begin(), groups_.end(), [](const auto& group) { return group.listed().row > 0; });
    result_.masks = lists ? odd.stored.partial + even.stored.partial : 0;
    for (const GroupSurvey& group : groups_) {
      result_.listed_keys += group.listed().row * static_cast<double>(rows_ * kSide);
    }
  }

  double budget_;
  std::vector<std::vector<std::int64_t>> heads_;
  std::vector<GroupSurvey> groups_;
  std::int64_t rows_;
  double pairs_ = 0;
  std::string too_many_;
  LayoutSurvey result_;
};

}  // namespace

double question_cost(const pattern::Node& root) {
  double nodes = 0;
  pattern::any_node(root, [&](const pattern::Node&) {
    ++nodes;
    return false;
  });
  return std::max(1.0, nodes / 8);
}

std::string text_for_head(const pattern::Pattern& pattern, const pattern::Site& site) {
  return pattern::Printer(pattern::Context(site)).node(pattern.root()).take();
}

std::string text_for_heads(const pattern::Pattern& pattern, pattern::Site site) {
  std::string text;
  for (site.head = 0; site.head < site.heads; ++site.head) {
    text += text_for_head(pattern, site) + "\n";
  }
  return text;
}

std::vector<std::vector<std::int64_t>> equal_heads(const pattern::Pattern& pattern, pattern::Site site,
                                                   std::optional<std::int64_t> head) {
  require(
      !head || (*head >= 0 && *head < site.heads), "head ", head.value_or(0), " does not exist: there ",
      [&] { return site.heads == 1 ? "is 1 head" : concat("are ", site.heads, " heads"); }, ", counted from 0");
  std::vector<std::vector<std::int64_t>> result;
  std::unordered_map<std::string, std::size_t> known;
  const std::int64_t end = head ? *head + 1 : site.heads;
  for (site.head = head.value_or(0); site.head < end; ++site.head) {
    const auto [entry, is_new] = known.emplace(text_for_head(pattern, site), result.size());
    if (is_new) {
      result.emplace_back();
    }
    result[entry->second].push_back(site.head);
  }
  return result;
}

LayoutSurvey survey_layout(const pattern::Pattern& pattern, const pattern::Site& site, std::optional<std::int64_t> head,
                           double questions) {
  pattern.check(site);
  return Survey(pattern, site, head, questions).run();
}

}  // namespace weft::inspect
