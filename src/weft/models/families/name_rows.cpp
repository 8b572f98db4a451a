// SPDX-License-Identifier: Apache-2.0
// A family's rows with prefix and layer filled in.
#include "weft/models/families/name_rows.h"

#include <algorithm>

#include "weft/core/error.h"

namespace weft::models {
namespace {

/// A name with its layer's number taken out.
struct Numbered {
  std::string text;
  std::string number;
};

Numbered take_number(std::string_view name) {
  for (const std::string_view layers :
       {"encoder.layers.", "decoder.layers.", "encoder.star.layers.", "encoder.layer."}) {
    const std::size_t end = name.find('.', layers.size());
    if (name.starts_with(layers) && end != std::string_view::npos) {
      return {concat(layers, "#", name.substr(end)), std::string(name.substr(layers.size(), end - layers.size()))};
    }
  }
  return {std::string(name), {}};
}

/// What a name has behind the row's: nothing, ".weight" or ".bias"; no value when the row is for another name.
std::optional<std::string> rest_of(const NameRow& row, std::optional<Head> head, std::string_view name) {
  if ((row.head && row.head != head) || !name.starts_with(row.weft)) {
    return std::nullopt;
  }
  const std::string_view rest = name.substr(row.weft.size());
  return rest.empty() || rest == ".weight" || rest == ".bias" ? std::optional<std::string>(rest) : std::nullopt;
}

}  // namespace

std::string filled_name(std::string_view part, std::string_view prefix, std::string_view number) {
  std::string text;
  for (const char letter : part) {
    if (letter == '~') {
      text += prefix;
    } else if (letter == '#') {
      text += number;
    } else {
      text += letter;
    }
  }
  return text;
}

std::vector<std::string> names_by_rows(const std::vector<NameRow>& rows, std::string_view parameter,
                                       std::string_view prefix, std::optional<Head> head) {
  const Numbered numbered = take_number(parameter);
  for (const NameRow& row : rows) {
    const std::optional<std::string> rest = rest_of(row, head, numbered.text);
    if (!rest) {
      continue;
    }
    std::vector<std::string> parts;
    for (const std::string_view part : row.parts) {
      if (!part.empty()) {
        parts.push_back(filled_name(part, prefix, numbered.number) + *rest);
      }
    }
    return parts;
  }
  // What a mechanism of Weft's own learns, its latents and norm: transformers has no name for it, and passes it over.
  const bool is_own = numbered.text.find(".attention.mechanism.") != std::string::npos ||
                      numbered.text.starts_with("encoder.layers.#.pack") ||
                      numbered.text.starts_with("encoder.layers.#.side_norm.") || numbered.text == "encoder.latents";
  return is_own ? std::vector<std::string>{concat(prefix, parameter)} : std::vector<std::string>{};
}

const NameRow* row_of(const std::vector<NameRow>& rows, std::string_view parameter, std::optional<Head> head) {
  const Numbered numbered = take_number(parameter);
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const NameRow& row) { return rest_of(row, head, numbered.text).has_value(); });
  return found == rows.end() ? nullptr : &*found;
}

std::string without_number(std::string_view name) { return take_number(name).text; }

}  // namespace weft::models
