// SPDX-License-Identifier: Apache-2.0
// Alignments by models of one direction, or of both, and how far they are from those that people made.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/metrics/translation/alignment_error.h"
#include "weft/tasks/input/pair_source.h"
#include "weft/tasks/sequences/align.h"
#include "weft/tasks/task_run.h"

namespace weft::tasks {

/// How many pairs are of a kind, and the first of them.
class PairCount {
 public:
  void count(bool is_one, const std::string& name);
  void warn(const char* what) const;

 private:
  std::int64_t count_ = 0;
  std::string first_;
};

/// How two alignments become one, and how much is computed at once.
struct AlignerRules {
  std::string symmetrize = "grow-diag";  ///< one of metrics::kSymmetrizations
  BatchLimits batch = {};
};

/// Models of one direction, or of both.
class Aligner {
 public:
  Aligner(AlignModel forward, std::optional<AlignModel> backward, AlignerRules rules);

  /// alignment_result() of each pair, with what was computed as metadata.
  std::vector<TaskResult> operator()(std::span<const Document> pairs);
  /// Says which pairs are not as the others.
  void warn() const;

 private:
  TaskResult result_of(const AlignedPair& forward, const AlignedPair* backward) const;

  AlignModel forward_;
  std::optional<AlignModel> backward_;
  AlignerRules rules_;
  PairCount one_by_one_;
  PairCount too_long_;
};

/// The alignments that people made, line by line to the pairs.
class GoldAlignments {
 public:
  /// `from_one`: words count from 1. Errors: as NumberedLines.
  GoldAlignments(const std::string& path, bool from_one) : lines_(path), first_(from_one ? 1 : 0) {}

  /// Errors: kFormat naming the line that is malformed, or where there are fewer lines than pairs.
  void take(const TaskResult& found);
  /// Errors: kFormat for more lines than pairs.
  const metrics::AlignmentScorer& finish();

 private:
  [[noreturn]] void fail_on_pairs(std::int64_t lines, const std::string& pairs) const;

  NumberedLines lines_;
  std::int64_t first_;
  std::int64_t pairs_ = 0;
  metrics::AlignmentScorer scorer_;
};

}  // namespace weft::tasks
