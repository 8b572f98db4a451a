// SPDX-License-Identifier: Apache-2.0
// Puts the measures together, and decides what is measured on a sample.
#include "weft/inspect/graph/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include <Spectra/SymEigsSolver.h>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>

#include "weft/core/error.h"
#include "weft/core/work/pieces.h"
#include "weft/inspect/graph/paths.h"
#include "weft/inspect/survey/survey.h"
#include "weft/pattern/interval.h"

namespace weft::inspect {
namespace {

constexpr pattern::Tile kSurveyTile{64, 64};
constexpr std::int64_t kSampleWork = std::int64_t{1} << 27;  // words that searches from a sample may visit
constexpr std::int64_t kFewest = 16;
constexpr double kBuiltBlocks = 1 << 23;     // of a layout of which a graph is made
constexpr double kMostReachMasks = 1 << 19;  // distinct ones of such a layout: 268 MB
constexpr double kListedKeys = 1 << 26;      // draws and look-ups of such a layout
constexpr double kReachWork = 1 << 28;       // words and draws of all layers of a stack
constexpr double kWordsOfDraw = 8;           // words that a draw is worth

std::vector<std::int64_t> heads_of(const pattern::Site& site, const std::optional<std::int64_t>& head) {
  std::vector<std::int64_t> heads(head ? 1 : static_cast<std::size_t>(site.heads));
  std::iota(heads.begin(), heads.end(), head.value_or(0));
  return heads;
}

/// The layout of some heads only, for its figures.
pattern::LayoutStatistics statistics_of(pattern::BlockLayout layout, const std::vector<std::int64_t>& heads) {
  std::vector<std::int32_t> groups(heads.size());
  std::transform(heads.begin(), heads.end(), groups.begin(),
                 [&](std::int64_t head) { return layout.group[static_cast<std::size_t>(head)]; });
  layout.group = std::move(groups);
  layout.heads = std::ssize(heads);
  return statistics(layout);
}

/// Layers that draw graphs of their own are each built: `work` words and draws a layer.
bool is_reach_affordable(const pattern::Pattern& pattern, const GraphRequest& request, double work) {
  pattern::Site site = request.site;
  std::string known;
  double graphs = 0;
  for (site.layer = 0; site.layer < request.layers; ++site.layer) {
    std::string text = text_for_heads(pattern, site);
    graphs += text == known ? 0 : 1;
    known = std::move(text);
  }
  return graphs <= 1 || graphs * work <= kReachWork;
}

std::vector<Estimate> reach_by_layer(const pattern::Pattern& pattern, const GraphRequest& request,
                                     const std::vector<std::int64_t>& sources) {
  std::vector<Estimate> result;
  Reach reach(request.site.key_length, sources);
  std::string known;
  WordRows graph;
  pattern::Site site = request.site;
  for (site.layer = 0; site.layer < request.layers; ++site.layer) {
    // Most stacks have one pattern: its graph is built once, and not per layer.
    std::string text = text_for_heads(pattern, site);
    if (text != known) {
      graph = pattern_graph(pattern, site, request.head);
      known = std::move(text);
    }
    result.push_back(reach.pass(graph));
    end_piece();
  }
  return result;
}

void count_positions(GraphStatistics& result, const WordRows& graph) {
  const std::vector<std::int64_t> outgoing = degrees(graph);
  const std::vector<std::int64_t> incoming = incoming_degrees(graph);
  for (std::size_t position = 0; position < outgoing.size(); ++position) {
    result.isolated += outgoing[position] == 0 && incoming[position] == 0 ? 1 : 0;
    result.unseen += incoming[position] == 0 ? 1 : 0;
    result.contains_star = result.contains_star ||
                           (outgoing[position] == graph.positions - 1 && incoming[position] == graph.positions - 1);
  }
}

void check_square(const pattern::Site& site) {
  require(site.query_length == site.key_length && site.query_offset == 0,
          "pattern: a graph needs as many queries as keys and no offset, found ", site.query_length, " and ",
          site.key_length, ", offset ", site.query_offset);
}

/// Whether the layout of all heads and the graph can be built in seconds and some 400 MB.
bool is_measurable(const LayoutSurvey& survey, const GraphRequest& request) {
  const double heads = request.head ? static_cast<double>(request.site.heads) : 1;
  return survey.words <= static_cast<double>(kMeasuredWords) && survey.blocks_stored * heads <= kBuiltBlocks &&
         survey.masks * heads <= kMostReachMasks && survey.listed_keys * heads <= kListedKeys;
}

void measure_graph(GraphStatistics& result, const pattern::Pattern& pattern, const GraphRequest& request,
                   const LayoutSurvey& survey) {
  const std::vector<std::int64_t> heads = heads_of(request.site, request.head);
  WordRows graph;
  {
    const pattern::BlockLayout layout = compile(pattern, request.site, kSurveyTile);
    graph = word_rows(layout, heads);
    result.layout = statistics_of(layout, heads);
    result.possible_blocks = std::ssize(heads) * layout.query_blocks() * layout.key_blocks();
  }
  end_piece();
  count_positions(result, graph);
  const bool exact = graph.positions <= request.exact_length;
  // A search may visit every word; hubs make the clustering of one position cost as much.
  const std::int64_t affordable = std::max(kFewest, kSampleWork / std::max<std::int64_t>(graph.words(), 1));
  const std::vector<std::int64_t> sources =
      sample_positions(graph.positions, exact ? graph.positions : std::min(request.samples, affordable));
  result.sampled = exact ? 0 : std::ssize(sources);
  result.paths = path_lengths(graph, sources);
  end_piece();
  {
    const WordRows both = symmetrised(graph);
    result.clustering = clustering_coefficient(both, sources);
    end_piece();
    result.second_eigenvalue = second_eigenvalue(both);
    end_piece();
  }
  if (is_reach_affordable(pattern, request, survey.words + kWordsOfDraw * survey.listed_keys)) {
    result.reach = reach_by_layer(pattern, request, sources);
  }
}

}  // namespace

WordRows pattern_graph(const pattern::Pattern& pattern, const pattern::Site& site, std::optional<std::int64_t> head) {
  const std::vector<std::int64_t> heads = heads_of(site, head);
  return word_rows(compile(pattern, site, kSurveyTile), heads);
}

GraphStatistics graph_statistics(const pattern::Pattern& pattern, const GraphRequest& request) {
  const pattern::Site& site = request.site;
  require(request.layers >= 0 && request.samples >= 2, "pattern: a graph is measured with at least 0 layers and 2 ",
          "samples, found ", request.layers, " and ", request.samples);
  check_square(site);
  const LayoutSurvey survey = survey_layout(pattern, site, request.head);
  GraphStatistics result;
  result.positions = site.query_length;
  result.words = survey.words;
  result.is_measured = is_measurable(survey, request);
  if (result.is_measured) {
    measure_graph(result, pattern, request, survey);
  } else {
    result.layout = survey.layout;
    result.possible_blocks = survey.possible_blocks;
    result.edges_error = survey.edges_error;
    result.sampled_rows = survey.sampled;
  }
  return result;
}

namespace {

constexpr Eigen::Index kKrylov = 60;        // vectors between restarts
constexpr Eigen::Index kDense = 300;        // positions up to which all eigenvalues are computed
constexpr Eigen::Index kLongest = 1 << 18;  // positions: the vectors take 126 MB
constexpr double kWork = 3e9;               // additions before a tighter tolerance is given up: some seconds
constexpr double kTolerances[] = {1e-3, 1e-5, 1e-7, 1e-10};  // of the residual, which bounds the eigenvalue's error

/// y = (D^-1/2 A D^-1/2 - 2 v v^T) x, where v is the first eigenvector: its eigenvalue moves from 1 to -1.
class DeflatedAdjacency {
 public:
  using Scalar = double;

  explicit DeflatedAdjacency(const WordRows& rows)
      : rows_(rows), scale_(rows.positions), first_(rows.positions), scaled_(rows.positions) {
    const std::vector<std::int64_t> degree = degrees(rows);
    for (Eigen::Index i = 0; i < first_.size(); ++i) {
      first_[i] = std::sqrt(static_cast<double>(degree[static_cast<std::size_t>(i)]));
      scale_[i] = 1 / first_[i];
    }
    first_.normalize();
    block_sums_.resize(static_cast<std::size_t>(pattern::ceil_divide(rows.positions, 64)));
  }

  Eigen::Index rows() const { return first_.size(); }
  Eigen::Index cols() const { return first_.size(); }

  void perform_op(const double* input, double* output) const {
    const Eigen::Map<const Eigen::VectorXd> x(input, rows());
    Eigen::Map<Eigen::VectorXd> y(output, rows());
    scaled_ = x.cwiseProduct(scale_);
    for (std::size_t block = 0; block < block_sums_.size(); ++block) {
      const auto begin = static_cast<Eigen::Index>(64 * block);
      block_sums_[block] = scaled_.segment(begin, std::min<Eigen::Index>(64, rows() - begin)).sum();
    }
    for (Eigen::Index i = 0; i < rows(); ++i) {
      y[i] = scale_[i] * row_sum(static_cast<std::size_t>(i));
    }
    y -= 2 * first_.dot(x) * first_;
  }

  /// Additions of one product.
  double work() const {
    double additions = static_cast<double>(4 * kKrylov * rows());  // keeping the vectors orthogonal, vectorised
    for (const std::uint64_t bits : rows_.bits) {
      additions += 2 + std::min(std::popcount(bits), 64 - std::popcount(bits));
    }
    return additions;
  }

 private:
  double row_sum(std::size_t row) const {
    double sum = 0;
    for (auto word = static_cast<std::size_t>(rows_.begin[row]); word < static_cast<std::size_t>(rows_.begin[row + 1]);
         ++word) {
      const std::uint32_t index = rows_.index[word];
      const std::uint64_t bits = rows_.bits[word];
      const std::uint64_t all = pattern::low_bits(rows_.positions - std::int64_t{64} * index);
      const bool most = std::popcount(bits) > 32;  // then what is missing is taken from the block's sum
      double part = 0;
      for (std::uint64_t rest = most ? all & ~bits : bits; rest != 0; rest &= rest - 1) {
        part += scaled_[std::int64_t{64} * index + std::countr_zero(rest)];
      }
      sum += most ? block_sums_[index] - part : part;
    }
    return sum;
  }

  const WordRows& rows_;
  Eigen::VectorXd scale_;
  Eigen::VectorXd first_;
  mutable Eigen::VectorXd scaled_;
  mutable std::vector<double> block_sums_;
};

/// All eigenvalues, for graphs so small that the iteration has nothing to iterate on.
double dense_largest(const DeflatedAdjacency& adjacency) {
  Eigen::MatrixXd matrix(adjacency.rows(), adjacency.rows());
  for (Eigen::Index i = 0; i < adjacency.rows(); ++i) {
    const Eigen::VectorXd unit = Eigen::VectorXd::Unit(adjacency.rows(), i);
    adjacency.perform_op(unit.data(), matrix.col(i).data());
  }
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(matrix, Eigen::EigenvaluesOnly).eigenvalues().maxCoeff();
}

/// The largest eigenvalue within `tolerance`, or nothing after `restarts`.
std::optional<double> iterated_largest(DeflatedAdjacency& adjacency, double tolerance, double restarts) {
  Spectra::SymEigsSolver<DeflatedAdjacency> solver(adjacency, 1, kKrylov);
  solver.init();
  solver.compute(Spectra::SortRule::LargestAlge, static_cast<Eigen::Index>(restarts), tolerance);
  if (solver.info() != Spectra::CompInfo::Successful) {
    return std::nullopt;
  }
  return solver.eigenvalues()[0];
}

}  // namespace

std::optional<Estimate> second_eigenvalue(const WordRows& rows) {
  if (rows.positions < 2) {
    return std::nullopt;
  }
  if (connected_parts(rows) > 1) {
    return Estimate{1, 0};
  }
  if (rows.positions > kLongest) {
    return std::nullopt;
  }
  DeflatedAdjacency adjacency(rows);
  if (adjacency.rows() <= kDense) {
    return Estimate{dense_largest(adjacency), 0};
  }
  const double restarts = std::max(1.0, kWork / (adjacency.work() * static_cast<double>(kKrylov)));
  std::optional<Estimate> best;
  // From loose to tight, each from the start: the last one that converges counts, and its cost is most of the sum.
  for (const double tolerance : kTolerances) {
    const std::optional<double> found = iterated_largest(adjacency, tolerance, restarts);
    if (!found) {
      break;
    }
    best = {*found, tolerance <= 1e-10 ? 0 : tolerance};
  }
  return best;
}

}  // namespace weft::inspect
