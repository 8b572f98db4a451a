// SPDX-License-Identifier: Apache-2.0
// The names of the published families, for whoever tells a model by its config.json alone. This header sees no
// LibTorch.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace weft::models {

/// What messages list a family among.
enum class FamilyKind {
  kEncoder,  ///< reads a text from both sides
  kPair,     ///< an encoder-decoder
  kCausal,   ///< continues a text
  kTwofold,  ///< continues a text, or reads one from both sides, as its config.json says; listed with kCausal
  kOwn,      ///< Weft's own of one stack, which no message lists
  kOwnPair,  ///< Weft's own encoder-decoder
};

/// A row of families/list.inc.
struct FamilyName {
  std::string_view name;
  FamilyKind kind;
  std::string_view title;  ///< "a Transformer-XL"
};

inline constexpr std::array kFamilyNames{
#define WEFT_FAMILY(identifier, name, kind, title) FamilyName{name, FamilyKind::kind, title},
#include "weft/models/families/list.inc"
#undef WEFT_FAMILY
};

/// The row of that name; null where there is none.
constexpr const FamilyName* find_family_name(std::string_view name) {
  const auto* const found = std::find_if(kFamilyNames.begin(), kFamilyNames.end(),
                                         [&](const FamilyName& family) { return family.name == name; });
  return found == kFamilyNames.end() ? nullptr : found;
}

/// Whether there is a family of that name and kind.
constexpr bool is_family(std::string_view name, FamilyKind kind) {
  return std::any_of(kFamilyNames.begin(), kFamilyNames.end(),
                     [&](const FamilyName& family) { return family.name == name && family.kind == kind; });
}

constexpr std::size_t count_of(FamilyKind kind) {
  return static_cast<std::size_t>(std::count_if(kFamilyNames.begin(), kFamilyNames.end(),
                                                [&](const FamilyName& family) { return family.kind == kind; }));
}

/// The names of a kind, in the order of the list.
template <FamilyKind kKind>
constexpr std::array<std::string_view, count_of(kKind)> names_of() {
  std::array<std::string_view, count_of(kKind)> names{};
  std::size_t count = 0;
  for (const FamilyName& family : kFamilyNames) {
    if (family.kind == kKind) {
      names[count++] = family.name;
    }
  }
  return names;
}

inline constexpr auto kEncoderTypes = names_of<FamilyKind::kEncoder>();
inline constexpr auto kEncoderDecoderTypes = names_of<FamilyKind::kPair>();

/// Names in a sentence: "marian, bart and led", with `last` before the last.
inline std::string in_words(std::span<const std::string_view> names, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += i == 0 ? "" : i + 1 == names.size() ? last : ", ";
    text += names[i];
  }
  return text;
}

template <std::size_t kCount>
std::string types_in_words(const std::array<std::string_view, kCount>& types, std::string_view last) {
  return in_words(types, last);
}

/// All encoders in a sentence: "bert, roberta, ... and star_transformer", with `last` (" and ", " or ", ", ") before
/// the last.
inline std::string encoder_types(std::string_view last) { return types_in_words(kEncoderTypes, last); }

}  // namespace weft::models
