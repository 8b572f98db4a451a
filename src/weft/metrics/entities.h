// SPDX-License-Identifier: Apache-2.0
// Precision, recall and F1 of named entities: an entity counts when type, first and last word are right. The rules are
// those of seqeval in its default mode, which reads IOB1, IOB2, IOE and IOBES alike (conlleval's rules).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/metrics/classification.h"

namespace weft::metrics {

/// Words begin to end - 1 of a sentence.
struct Entity {
  std::string type;  ///< "_" for a tag without one
  std::int64_t begin = 0;
  std::int64_t end = 0;
  auto operator<=>(const Entity&) const = default;
};

/// The entities that tags such as "B-person", "I-person", "O" name, in order. A tag's first letter is its place (any of
/// B I E S O; others neither begin nor end what went before by themselves), the rest behind '-' its type.
/// Errors: kArgument for an empty tag.
std::vector<Entity> find_entities(std::span<const std::string> tags);

/// Scores of one type, and how many entities there are.
struct EntityScores {
  std::string type;
  Scores scores;
  std::int64_t support = 0;
};

/// What seqeval's classification_report tells.
struct EntityReport {
  Scores micro;
  Scores macro;
  Scores weighted;
  double accuracy = 0.0;  ///< of single tags
  std::int64_t support = 0;
  std::vector<EntityScores> types;  ///< sorted by name
};

/// Counts sentence by sentence, so that a set of any size fits.
class EntityScorer {
 public:
  /// The true and the predicted tags of one sentence. Errors: kArgument for different lengths or an empty tag.
  void add(std::span<const std::string> truth, std::span<const std::string> predicted);
  /// Scores so far; 0 where nothing can be divided, as seqeval with its warnings off, and where it takes a mean over no
  /// type at all.
  EntityReport report() const;

 private:
  std::map<std::string, Counts, std::less<>> types_;
  std::int64_t tags_ = 0;
  std::int64_t right_tags_ = 0;
};

}  // namespace weft::metrics
