// SPDX-License-Identifier: Apache-2.0
// Where the two texts of a pair stand in a window: what a model with global positions must know, and no separator says
// for certain, because texts may hold separators and tokenisers put one or two between texts.
#pragma once

#include <cstdint>

#include "weft/text/encoding.h"

namespace weft::text {

struct PairPlaces {
  std::int64_t end = -1;    ///< the place behind the first text, where its separator stands; -1: the window is one text
  std::int64_t begin = -1;  ///< the place of the second text's first token; -1 likewise
  bool operator==(const PairPlaces&) const = default;
};

/// Of one window. A text without tokens stands between the special tokens around it.
PairPlaces pair_places(const Encoding& window);

}  // namespace weft::text
