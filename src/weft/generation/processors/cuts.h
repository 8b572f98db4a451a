// SPDX-License-Identifier: Apache-2.0
// Processors of drawing: temperature, and cuts that leave only some tokens to draw among. Each cut looks at the
// probabilities that those before it left, and keeps the `least` likeliest tokens whatever its rule says.
#pragma once

#include <cstdint>

#include "weft/generation/processors/processor.h"

namespace weft::generation {

/// Scores divided by a temperature.
Processor divide_by(double temperature);
/// The k likeliest tokens, and those that are as likely as the last of them.
Processor keep_top_k(std::int64_t k);
/// The likeliest tokens, as many as have probability `mass` together (Holtzman et al. 2020).
Processor keep_top_p(double mass, std::int64_t least);
/// Tokens with at least `part` of the probability of the likeliest one.
Processor keep_min_p(double part, std::int64_t least);
/// Of the 100 likeliest tokens those before the sum of -p log p exceeds `part` of its whole; one stays.
Processor keep_top_h(double part);
/// The tokens whose -log p is nearest to the entropy, as many as have probability `mass` together (Meister et al.
/// 2023).
Processor keep_typical(double mass, std::int64_t least);
/// Tokens of at least this probability (Hewitt et al. 2022).
Processor keep_epsilon(double epsilon, std::int64_t least);
/// Tokens of at least min(epsilon, sqrt(epsilon) exp(-entropy)) (the same).
Processor keep_eta(double epsilon, std::int64_t least);

}  // namespace weft::generation
