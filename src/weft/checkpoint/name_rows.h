// SPDX-License-Identifier: Apache-2.0
// From Weft's parameters to the names of a Hugging Face file, by the rows that a family lists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/families/family.h"

namespace weft::checkpoint {

/// The parts of the first row that fits `parameter`, with its layer's number and `prefix` filled in; ".weight" and
/// ".bias" are the same on both sides. Empty where no row fits. `head`: rows of another one do not count.
std::vector<std::string> names_by_rows(const std::vector<models::NameRow>& rows, std::string_view parameter,
                                       std::string_view prefix, std::optional<models::Head> head = std::nullopt);

/// NameRow::ones of the row that fits `parameter`; empty where none does.
std::vector<std::int64_t> ones_by_rows(const std::vector<models::NameRow>& rows, std::string_view parameter,
                                       std::optional<models::Head> head = std::nullopt);

}  // namespace weft::checkpoint
