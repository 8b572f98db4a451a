// SPDX-License-Identifier: Apache-2.0
// For given columns and stride one pass over the sums gives what a window still has to hold, by distance.
#include "weft/profile/propose/head_shape.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/joined.h"

namespace weft::profile {
namespace {

std::size_t offset(std::int64_t number) { return static_cast<std::size_t>(number); }

double distance_mass(const MassSums& sums, std::int64_t head, std::int64_t distance) {
  const std::int64_t entry = distance + sums.keys() - 1;
  const bool is_there = entry >= 0 && entry < sums.distances();
  return is_there ? static_cast<double>(sums.distance[offset(head * sums.distances() + entry)]) : 0;
}

// What columns and stride hold, and by distance what they leave to a window.
struct Remainder {
  double held = 0;
  std::vector<double> left;  // [distances], as the sums have them
};

bool is_in_stride(const HeadTerms& terms, std::int64_t distance) {
  return terms.stride > 0 && distance % terms.stride == 0;
}

Remainder exact_remainder(const MassSums& sums, std::int64_t head, const HeadTerms& terms) {
  Remainder rest;
  rest.left.resize(offset(sums.distances()));
  std::vector<bool> is_column(offset(sums.keys()));
  for (const std::int64_t key : terms.keys) {
    is_column[offset(key)] = true;
  }
  for (std::int64_t query = 0; query < sums.queries(); ++query) {
    const auto* row = sums.edge.data() + (head * sums.queries() + query) * sums.keys();
    const bool is_row = terms.rows && query < sums.keys() && is_column[offset(query)];
    for (std::int64_t key = 0; key < sums.keys(); ++key) {
      const bool is_held = is_row || is_column[offset(key)] || is_in_stride(terms, query - key);
      (is_held ? rest.held : rest.left[offset(query - key + sums.keys() - 1)]) += static_cast<double>(row[key]);
    }
  }
  return rest;
}

// Without edges: what the stride holds is known, what columns have in common with it and the window is estimated.
Remainder summed_remainder(const MassSums& sums, std::int64_t head, const HeadTerms& terms) {
  Remainder rest;
  rest.left.resize(offset(sums.distances()));
  for (std::int64_t distance = 1 - sums.keys(); distance < sums.queries(); ++distance) {
    const double mass = distance_mass(sums, head, distance);
    (is_in_stride(terms, distance) ? rest.held : rest.left[offset(distance + sums.keys() - 1)]) += mass;
  }
  return rest;
}

// What the columns hold outside of the window and of the stride, estimated: a pair of a window's distance and of a
// column has the larger of the two means, that of the distance and that of the column.
class ColumnEstimate {
 public:
  ColumnEstimate(const MassSums& sums, std::int64_t head, const HeadTerms& terms)
      : sums_(sums), head_(head), terms_(terms), before_(offset(sums.queries() + 1)) {
    std::partial_sum(sums.rows.begin() + head * sums.queries(), sums.rows.begin() + (head + 1) * sums.queries(),
                     before_.begin() + 1);
    for (const std::int64_t key : terms.keys) {
      const auto whole = static_cast<double>(sums.key[offset(head * sums.keys() + key)]);
      columns_.push_back({key, whole, whole / std::max(1.0, rows_of(1 - sums.keys(), sums.queries()))});
    }
    for (std::int64_t distance = 1 - sums.keys(); terms.stride > 0 && distance < sums.queries(); ++distance) {
      if (distance % terms.stride == 0) {
        take(distance);
      }
    }
  }

  /// The window or the stride has this distance now.
  void take(std::int64_t distance) {
    const double rows = rows_of(distance, distance + 1);
    if (rows == 0) {
      return;
    }
    const double mean = distance_mass(sums_, head_, distance) / rows;
    for (Column& column : columns_) {
      const std::int64_t query = column.key + distance;
      if (query >= 0 && query < sums_.queries()) {
        column.outside -= std::max(mean, column.mean) * static_cast<double>(rows_between(query, query + 1));
      }
    }
  }

  void add(std::int64_t distance) {
    if (!is_in_stride(terms_, distance)) {
      take(distance);
    }
  }

  /// Of the queries at the positions of the columns among all.
  double share_of_rows() const {
    std::int64_t rows = 0;
    for (const Column& column : columns_) {
      rows += rows_between(column.key, column.key + 1);
    }
    return static_cast<double>(rows) / static_cast<double>(std::max<std::int64_t>(1, before_.back()));
  }

  double outside() const {
    return std::accumulate(columns_.begin(), columns_.end(), 0.0,
                           [](double sum, const Column& column) { return sum + std::max(0.0, column.outside); });
  }

 private:
  struct Column {
    std::int64_t key;
    double outside;
    double mean;  // of a row
  };

  std::int64_t rows_between(std::int64_t begin, std::int64_t end) const {
    return before_[offset(std::clamp<std::int64_t>(end, 0, sums_.queries()))] -
           before_[offset(std::clamp<std::int64_t>(begin, 0, sums_.queries()))];
  }
  // Rows with a key at one of the distances [begin, end).
  double rows_of(std::int64_t begin, std::int64_t end) const {
    return static_cast<double>(rows_between(begin, end - 1 + sums_.keys()));
  }

  const MassSums& sums_;
  std::int64_t head_;
  const HeadTerms& terms_;
  std::vector<std::int64_t> before_;  // rows before each position
  std::vector<Column> columns_;
};

// What terms hold while their window grows.
class Held {
 public:
  Held(const MassSums& sums, std::int64_t head, const HeadTerms& terms)
      : sums_(sums),
        whole_(whole_mass(sums, head)),
        rest_(sums.has_edges() ? exact_remainder(sums, head, terms) : summed_remainder(sums, head, terms)) {
    if (!sums.has_edges()) {
      columns_.emplace(sums, head, terms);
      row_share_ = terms.rows ? columns_->share_of_rows() : 0;
    }
  }

  /// What a distance would add to the window; below 0 where no text has it.
  double at(std::int64_t distance) const {
    const std::int64_t entry = distance + sums_.keys() - 1;
    return entry >= 0 && entry < sums_.distances() ? rest_.left[offset(entry)] : -1.0;
  }
  /// The window has this distance now.
  void take(std::int64_t distance) {
    window_ += std::max(0.0, at(distance));
    if (columns_) {
      columns_->add(distance);
    }
  }
  double mass() const {
    const double held = rest_.held + window_ + (columns_ ? columns_->outside() : 0);
    return held + row_share_ * std::max(0.0, whole_ - held);  // whole rows, taken to be like the others
  }

 private:
  const MassSums& sums_;
  double whole_;
  Remainder rest_;
  double window_ = 0;
  std::optional<ColumnEstimate> columns_;
  double row_share_ = 0;
};

// "first=2, at=[70], last=1": runs at both ends by their lengths, a single run at the beginning by that alone.
std::string columns_text(const std::vector<std::int64_t>& columns, std::int64_t keys) {
  const std::int64_t count = std::ssize(columns);
  std::int64_t first = 0;
  while (first < count && columns[offset(first)] == first) {
    ++first;
  }
  std::int64_t last = 0;
  while (last < count - first && columns[offset(count - 1 - last)] == keys - 1 - last) {
    ++last;
  }
  if (first == count) {
    return std::to_string(first);
  }
  last = last == 1 && first == 0 && count > 1 ? 0 : last;  // one of a list
  const bool has_list = first + last < count;
  // A list that begins with position 0 alone stays whole.
  first = first == 1 && has_list ? 0 : first;
  std::vector<std::string> parts;
  if (first > 0) {
    parts.push_back(concat("first=", first));
  }
  if (last > 0) {
    parts.push_back(concat("last=", last));
  }
  if (first + last < count) {
    const std::vector<std::int64_t> between(columns.begin() + first, columns.end() - last);
    parts.push_back(
        concat("at=[", weft::joined(between, ", ", [](std::int64_t key) { return std::to_string(key); }), "]"));
  }
  return weft::joined(parts, ", ");
}

}  // namespace

std::string expression_of(const HeadTerms& terms, std::int64_t keys) {
  std::string text = terms.right == 0            ? concat("window(left=", terms.left, ")")
                     : terms.left == terms.right ? concat("window(", 2 * terms.left, ")")
                                                 : concat("window(left=", terms.left, ", right=", terms.right, ")");
  if (!terms.keys.empty()) {
    text += concat(" | global(", columns_text(terms.keys, keys), terms.rows ? ")" : ", side=keys)");
  }
  return terms.stride > 0 ? concat(text, " | stride(", terms.stride, ")") : text;
}

double whole_mass(const MassSums& sums, std::int64_t head) {
  const auto begin = sums.distance.begin() + head * sums.distances();
  return std::accumulate(begin, begin + sums.distances(), 0.0,
                         [](double sum, std::int64_t mass) { return sum + static_cast<double>(mass); });
}

std::vector<std::int64_t> strong_keys(const MassSums& sums, std::int64_t head) {
  constexpr std::size_t kMost = 128;
  const auto begin = sums.key.begin() + head * sums.keys();
  std::vector<std::int64_t> sorted(begin, begin + sums.keys());
  std::nth_element(sorted.begin(), sorted.begin() + sums.keys() / 2, sorted.end());
  const double median = static_cast<double>(sorted[offset(sums.keys() / 2)]);
  const double least = std::max(2 * median, 0.0005 * whole_mass(sums, head));
  std::vector<std::int64_t> keys;
  for (std::int64_t key = 0; key < sums.keys(); ++key) {
    if (static_cast<double>(begin[key]) > least) {
      keys.push_back(key);
    }
  }
  std::stable_sort(keys.begin(), keys.end(), [&](std::int64_t a, std::int64_t b) { return begin[a] > begin[b]; });
  keys.resize(std::min(keys.size(), kMost));
  return keys;
}

std::vector<std::int64_t> strong_strides(const MassSums& sums, std::int64_t head) {
  constexpr std::size_t kMost = 2;
  const double whole = whole_mass(sums, head);
  double beyond = 0;  // of distances of at least the stride
  std::vector<std::pair<double, std::int64_t>> found;
  const std::int64_t longest = std::max(sums.queries(), sums.keys());
  const auto both = [&](std::int64_t distance) {
    return distance_mass(sums, head, distance) + distance_mass(sums, head, -distance);
  };
  for (std::int64_t stride = longest - 1; stride >= 2; --stride) {
    beyond += both(stride);
    if (stride > longest / 4) {
      continue;
    }
    double held = 0;
    for (std::int64_t distance = stride; distance < longest; distance += stride) {
      held += both(distance);
    }
    if (held > 2 * beyond / static_cast<double>(stride) && held > 0.05 * whole) {
      found.emplace_back(held, stride);  // the longest first
    }
  }
  // Divisors of a stride hold what it holds: of those that hold about as much, the longest.
  double most = 0;
  for (const auto& [held, stride] : found) {
    most = std::max(most, held);
  }
  std::erase_if(found, [&](const auto& one) { return one.first < 0.6 * most; });
  std::vector<std::int64_t> strides;
  for (std::size_t at = 0; at < std::min(found.size(), kMost); ++at) {
    strides.push_back(found[at].second);
  }
  return strides;
}

bool grow_window(const MassSums& sums, std::int64_t head, double wanted, HeadTerms& terms, double& kept) {
  Held held(sums, head, terms);
  terms.left = 0;
  terms.right = 0;
  held.take(0);
  kept = held.mass();
  while (kept < wanted) {
    const double before = held.at(terms.left + 1);
    const double behind = held.at(-terms.right - 1);
    if (before < 0 && behind < 0) {
      return false;
    }
    held.take(before >= behind ? ++terms.left : -++terms.right);
    kept = held.mass();
  }
  return true;
}

double kept_share(const MassSums& sums, std::int64_t head, const HeadTerms& terms) {
  Held held(sums, head, terms);
  for (std::int64_t distance = -terms.right; distance <= terms.left; ++distance) {
    held.take(distance);
  }
  const double whole = whole_mass(sums, head);
  return whole > 0 ? held.mass() / whole : 1;
}

}  // namespace weft::profile
