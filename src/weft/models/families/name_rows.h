// SPDX-License-Identifier: Apache-2.0
// From Weft's parameters to the names of a Hugging Face file, by the rows that a family lists.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/encoder_config.h"

namespace weft::models {

/// Where a parameter of Weft's, or all those of a module, lie in a Hugging Face file. "#" is a layer's number, "~" the
/// family's prefix; several parts (query, key, value) lie under each other in Weft's. Without a head the row is for
/// all.
struct NameRow {
  std::string_view weft;
  std::array<std::string_view, 3> parts;
  std::optional<Head> head = std::nullopt;
  std::vector<std::int64_t> ones = {};  ///< dimensions of size 1 that the file has and Weft has not
  std::string_view other = {};          ///< a name that a lone part may have, too
  /// The other name is read first and the first one written as a copy where the head's table is its own: transformers
  /// adds that bias then, and keeps the other one without using it.
  bool other_if_untied = false;
};

/// The parts of the first row that fits `parameter`, with its layer's number and `prefix` filled in; ".weight" and
/// ".bias" are the same on both sides. Empty where no row fits. `head`: rows of another one do not count.
std::vector<std::string> names_by_rows(const std::vector<NameRow>& rows, std::string_view parameter,
                                       std::string_view prefix, std::optional<Head> head = std::nullopt);

/// The row that fits `parameter`; null where none does.
const NameRow* row_of(const std::vector<NameRow>& rows, std::string_view parameter,
                      std::optional<Head> head = std::nullopt);

/// A part of a row with prefix and layer's number filled in.
std::string filled_name(std::string_view part, std::string_view prefix, std::string_view number);

/// A name with its layer's number written as "#".
std::string without_number(std::string_view name);

}  // namespace weft::models
