// SPDX-License-Identifier: Apache-2.0
// What a person wants to see of an evaluation besides its figures: which label is taken for which, and examples of
// errors. Bounded, so that a report of any data set is a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/system/option_name.h"
#include "weft/formats/config_json.h"

namespace weft::fine_tuning {

/// Errors that a review shows at most.
inline constexpr std::size_t kMostErrors = 20;

/// `text` up to so many code points, with "..." where it was cut. A byte that is no UTF-8 becomes U+FFFD.
std::string shortened(std::string_view text, std::size_t most = 400);

/// How often each true label was predicted as each: {"labels": [...], "counts": [[...], ...]}, a row a true label, of
/// the labels that occur. Of more than 30 labels {"pairs": [{"truth", "predicted", "count"}, ...]}, the 30 most
/// frequent confusions. `names` are those of all labels.
formats::Json confusion_json(std::span<const std::int64_t> truth, std::span<const std::int64_t> predicted,
                             const std::vector<std::string>& names);

/// Of a model that predicts one and the same for everything: how many of `truth` are something else. 0 for one that
/// tells things apart, and for fewer than two examples.
std::int64_t others_of_one(std::span<const std::int64_t> truth, std::span<const std::int64_t> predicted);

/// A model that gives one number for everything, up to the rounding of float32, although the true ones differ.
struct OneNumber {
  double given = 0.0;
  double low = 0.0;  ///< of the true ones
  double high = 0.0;
};
/// Nothing for one that tells things apart, and for fewer than two examples.
std::optional<OneNumber> one_number(std::span<const double> given, std::span<const double> truth);

/// What to do about a model that says the same of everything, behind what it says.
inline constexpr auto kMore = [] {
  return concat("; train longer (", option("epochs"), "), with another ", option("learning_rate"),
                ", or with more and more even examples");
};

/// The numbers of the `most` largest values, the largest first; of equal ones the first first.
std::vector<std::size_t> largest(std::span<const double> values, std::size_t most);

}  // namespace weft::fine_tuning
