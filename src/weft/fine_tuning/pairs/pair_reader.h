// SPDX-License-Identifier: Apache-2.0
// Pairs of texts out of files: two aligned text files, or tables and JSON lines that hold both.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/fine_tuning/pairs/pair_config.h"
#include "weft/metrics/translation/alignment_error.h"
#include "weft/readers/reader.h"

namespace weft::fine_tuning {

/// A source, its target, and where they stand: "'train.de' line 3". A plain text, of which denoise makes pairs, is a
/// source with an empty target.
struct TextPair {
  std::string source;
  std::string target;
  std::string where;
  std::optional<metrics::AlignmentLinks> links = {};  ///< of their words, where alignments are read
};

/// One pair after another, in the order of the files. Malformed: a side that is empty or blank, or not UTF-8; what the
/// readers of tables and JSON lines find malformed; links that are none, or name words that are not there.
class PairReader final : public readers::Reader<TextPair> {
 public:
  /// The training pairs of `given`, or the held-out ones, which have no links. Errors: kIo; kArgument for another
  /// number of source than of target files, and for a column that a table does not have; kFormat for a file of another
  /// form.
  PairReader(const PairConfig& given, bool held_out);

 protected:
  /// Errors: kFormat, also when malformed records are skipped, where one file of two has more lines than the other:
  /// nobody knows then which lines belong together.
  bool read(TextPair& pair) override;

 private:
  using Next = std::function<bool(TextPair&)>;

  bool plain_;                                // texts without a target
  std::vector<std::function<Next()>> files_;  // opens a file, or two
  std::size_t opened_ = 0;
  Next next_;
};

}  // namespace weft::fine_tuning
