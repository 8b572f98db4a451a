// SPDX-License-Identifier: Apache-2.0
// The pairs of a run's training data, or of its held-out data, as often as they are needed: counted, learned from,
// encoded. Files are read once where what they hold fits into memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/fine_tuning/pairs/pair_config.h"
#include "weft/fine_tuning/pairs/pair_reader.h"
#include "weft/metrics/translation/alignment_error.h"

namespace weft::fine_tuning {

class PairTexts {
 public:
  /// Bytes of texts and links that are kept: a few million pairs of sentences.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 30;

  /// Finds the files and reads none. Errors: as PairReader.
  PairTexts(const PairConfig& config, bool held_out);

  /// Whether the config names files.
  bool given() const noexcept { return given_; }
  const char* name() const noexcept { return held_out_ ? "held-out" : "training"; }
  /// Reads all pairs, under a progress bar, and keeps them while they have at most `most_bytes`; how many there are, 0
  /// where none are given. Errors: as next().
  std::int64_t read_ahead(std::size_t most_bytes = kMostBytes);
  /// The next pair, or false at the end, after which the first comes again. Errors: as PairReader; kFormat for files
  /// without a pair.
  bool next(TextPair& pair);
  /// What came of reading the files; to be asked at an end.
  const readers::ReadReport& report() const noexcept { return report_; }

 private:
  // Where the three texts of a pair end, in a chunk that they begin together.
  struct Place {
    std::size_t chunk = 0;
    std::size_t begin = 0;
    std::array<std::size_t, 3> ends{};
    std::optional<std::size_t> links_end = {};  // where the pair's links end, where alignments are read
  };
  void keep(const TextPair& pair);
  bool read(TextPair& pair);

  PairConfig config_;
  bool held_out_;
  bool given_;
  std::unique_ptr<PairReader> reader_;  // open in the middle of the files
  readers::ReadReport report_;
  bool kept_ = false;
  std::vector<std::string> chunks_;  // of which none moves when it grows
  std::vector<Place> places_;
  std::vector<metrics::AlignmentLink> links_;  // of all pairs
  std::size_t cursor_ = 0;
};

}  // namespace weft::fine_tuning
