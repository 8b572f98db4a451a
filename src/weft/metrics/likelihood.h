// SPDX-License-Identifier: Apache-2.0
// A summed negative log-likelihood as perplexity or as bits a unit, where the unit does not depend on the vocabulary:
// bytes, characters, bases.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::metrics {

/// exp(nats / tokens). Errors: kArgument for fewer than one token, so below; infinity where it is beyond doubles.
double perplexity(double nats, std::int64_t tokens);

/// nats / (ln 2 units): bits a byte, a character or a base.
double bits_per_unit(double nats, std::int64_t units);

/// What a text has of each unit.
struct TextUnits {
  std::int64_t bytes = 0;
  std::int64_t characters = 0;  ///< code points; a byte that is not UTF-8 counts as one
  std::int64_t bases = 0;       ///< letters of the nucleic alphabet (IUPAC: ACGTUNRYSWKMBDHV), either case
};

/// Counts over `text`, headers of FASTA not known: give it sequences only.
TextUnits count_units(std::string_view text);

}  // namespace weft::metrics
