// SPDX-License-Identifier: Apache-2.0
// Texts that belong together, out of tables and JSON with the names that data sets for sentence-transformers have:
// pairs, pairs with a score, and a query with texts that answer it and texts that do not.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/fine_tuning/settings.h"
#include "weft/formats/config_json.h"
#include "weft/readers/reader.h"

namespace weft::fine_tuning {

/// A record. No text is empty.
struct TextGroup {
  std::string query;                   ///< anchor, query, question, sentence1, ...
  std::vector<std::string> positives;  ///< at least one; just one where there is a score
  std::vector<std::string> negatives;  ///< those there are
  std::optional<double> score;         ///< of the query and the text, as the file has it: not divided by score_max
  std::string place;                   ///< file and line, for messages
  formats::Json origin = nullptr;      ///< {"file", "line", "id" where it has one}
};

/// Calls visit(group) for every record of `paths`, in their order. Columns and fields are those that `settings` name
/// (text_field, pair_field, negative_field, label_field), else those with usual names. A record without a text, with
/// one that is empty, with a score that is no finite number, or with both a score and negatives is malformed. Errors:
/// kIo; kFormat naming file and line; kArgument for a column that a table does not have, naming those it has.
readers::ReadReport read_text_groups(const std::vector<std::string>& paths, const DataSettings& settings,
                                     const std::function<void(const TextGroup&)>& visit);

/// group.score over settings.score_max. Errors: MalformedRecord that names the place and score_max where that is not
/// from `least` to 1.
double scaled_score(const TextGroup& group, const DataSettings& settings, double least);

}  // namespace weft::fine_tuning
