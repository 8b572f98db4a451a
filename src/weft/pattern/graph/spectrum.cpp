// SPDX-License-Identifier: Apache-2.0
// Spectra's restarted Lanczos method on the words of the graph. The first eigenvector, the square roots of the degrees,
// is known and taken out, so that the largest eigenvalue left is the one asked for.
#include "weft/pattern/graph/spectrum.h"

#include <algorithm>
#include <cmath>

#include <Spectra/SymEigsSolver.h>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>

#include "weft/pattern/graph/paths.h"
#include "weft/pattern/interval.h"

namespace weft::pattern {
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
    block_sums_.resize(static_cast<std::size_t>(ceil_divide(rows.positions, 64)));
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
      const std::uint64_t all = low_bits(rows_.positions - std::int64_t{64} * index);
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
  // From loose to tight, each from the start: the last one that settles counts, and its cost is most of the sum.
  for (const double tolerance : kTolerances) {
    const std::optional<double> found = iterated_largest(adjacency, tolerance, restarts);
    if (!found) {
      break;
    }
    best = {*found, tolerance <= 1e-10 ? 0 : tolerance};
  }
  return best;
}

}  // namespace weft::pattern
