// SPDX-License-Identifier: Apache-2.0
// The expression read, written in its canonical form, and counted.
#include "weft/attention/mechanisms/lsh/lsh_settings.h"

#include <algorithm>
#include <vector>

#include "weft/attention/mechanisms/settings.h"
#include "weft/core/error.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"

namespace weft::attention {
namespace {

constexpr std::int64_t kMostBuckets = std::int64_t{1} << 21;

std::vector<std::int64_t> factors_of(const std::string& text) {
  std::vector<std::int64_t> factors;
  std::int64_t count = 1;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('x', begin), text.size());
    const auto factor = integer_of(text.substr(begin, end - begin));
    const bool fits = factor && *factor >= 2 && *factor % 2 == 0 && *factor <= kMostBuckets / count;
    if (!fits || end + 1 == text.size()) {
      fail(ErrorKind::kExpression,
           "attention: buckets of `lsh` must be an even number, or even numbers as in 64x128, "
           "whose product is at most ",
           kMostBuckets, ", found ", quote(text));
    }
    factors.push_back(*factor);
    count *= *factor;
    begin = end + 1;
  }
  return factors;
}

void read_seed(MechanismSettings& given, HashAttentionSettings& settings) {
  const std::string seed = given.text("seed");
  settings.anew = seed == "step";
  if (seed.empty() || settings.anew) {
    return;
  }
  const auto number = integer_of(seed);
  if (!number || *number < 0) {
    fail(ErrorKind::kExpression, "attention: seed of `lsh` must be a whole number from 0 on, or `step`, found ",
         quote(seed));
  }
  settings.hash.seed = static_cast<std::uint64_t>(*number);
}

std::string lsh_description(const HashAttentionSettings& settings) {
  const HashAttentionSettings plain;
  std::string inside;
  const auto add = [&](const auto&... parts) { inside += concat(inside.empty() ? "" : ", ", parts...); };
  const auto add_number = [&](const char* name, std::int64_t number, std::int64_t otherwise) {
    if (number != otherwise) {
      add(name, "=", number);
    }
  };
  if (settings.form != HashForm::kChunks) {
    add("causal=", settings.form == HashForm::kRank ? "rank" : "position");
  }
  for (std::size_t i = 0; i < settings.hash.factors.size(); ++i) {
    inside += concat(i > 0 ? "x" : inside.empty() ? "buckets=" : ", buckets=", settings.hash.factors[i]);
  }
  add_number("rounds", settings.hash.rounds, 2);
  if (settings.form == HashForm::kRank) {
    add_number("window", settings.window, plain.window);
  } else {
    add_number("chunk", settings.chunk, plain.chunk);
    add_number("left", settings.left, plain.left);
    add_number("right", settings.right, plain.right);
    add_number("multiple", settings.multiple, settings.chunk);
  }
  if (settings.cached) {
    add("decode=cached");
  }
  if (settings.anew) {
    add("seed=step");
  }
  add_number("seed", static_cast<std::int64_t>(settings.hash.seed), 0);
  return inside.empty() ? "lsh" : concat("lsh(", inside, ")");
}

// Hashing, and two products of each row with the keys of its window, in each round.
double hash_operations(const HashAttentionSettings& settings, const MechanismSite& site, std::int64_t length) {
  const auto width = static_cast<double>(site.head_dim);
  const auto tokens = static_cast<double>(length);
  const auto rounds = static_cast<double>(settings.hash.rounds);
  if (length <= settings.chunk && settings.form != HashForm::kRank) {
    return tokens * tokens * 4 * width;
  }
  double columns = 0;
  for (const std::int64_t factor : settings.hash.factors) {
    columns += static_cast<double>(factor);  // half as many, at two operations each
  }
  const auto keys = static_cast<double>((settings.left + 1 + settings.right) * settings.chunk);
  return tokens * rounds * width * (4 * keys + columns);
}

}  // namespace

HashAttentionSettings hash_attention_settings(const std::string& expression) {
  constexpr std::int64_t kLongestChunk = std::int64_t{1} << 16;
  constexpr std::int64_t kMostChunks = 64;
  MechanismSettings given(expression, "lsh");
  HashAttentionSettings settings;
  const std::string causal = given.word("causal", {"none", "position", "rank"});
  settings.form = causal == "rank"       ? HashForm::kRank
                  : causal == "position" ? HashForm::kChunksByPosition
                                         : HashForm::kChunks;
  settings.hash.factors = factors_of(given.text("buckets"));
  settings.hash.rounds = given.number("rounds", 2, 1, kMostChunks);
  read_seed(given, settings);
  if (settings.form == HashForm::kRank) {
    settings.window = given.number("window", settings.window, 1, kLongestChunk);
    given.check_all_taken({"causal=rank", "window", "buckets", "rounds", "seed"});
    // Wide enough for products, narrow enough that few pairs beyond the window are computed.
    settings.chunk = std::clamp<std::int64_t>(settings.window, 16, 128);
    settings.left = (settings.window + settings.chunk - 1) / settings.chunk;
  } else {
    settings.chunk = given.number("chunk", settings.chunk, 1, kLongestChunk);
    settings.left = given.number("left", settings.left, 0, kMostChunks);
    settings.right = given.number("right", settings.right, 0, kMostChunks);
    settings.multiple = given.number("multiple", settings.chunk, settings.chunk, kLongestChunk * kMostChunks);
    if (settings.multiple % settings.chunk != 0) {
      fail(ErrorKind::kExpression, "attention: multiple of `lsh` must be a multiple of chunk ", settings.chunk,
           ", found ", settings.multiple);
    }
    settings.cached = given.word("decode", {"whole", "cached"}) == "cached";
    if (settings.cached && settings.form != HashForm::kChunksByPosition) {
      fail(ErrorKind::kExpression, "attention: decode=cached of `lsh` is for causal=position, found causal=none");
    }
    given.check_all_taken({"causal", "buckets", "rounds", "chunk", "left", "right", "multiple", "decode", "seed"});
  }
  return settings;
}

MechanismSpec parse_lsh(const std::string& expression) {
  const HashAttentionSettings settings = hash_attention_settings(expression);
  MechanismSpec spec;
  spec.name = "lsh";
  spec.description = lsh_description(settings);
  spec.projections = Projections::kSharedQueryKey;
  spec.limits.cross = "its queries and keys are one projection of one text";
  spec.not_observed = "lsh chooses its edges anew in every call";
  spec.limits.distances = "it sorts tokens by bucket, and neighbours of a bucket have no fixed distance";
  if (settings.form == HashForm::kChunks) {
    spec.limits.causal =
        "later tokens move the borders of its chunks; `lsh(causal=rank)` sees the past alone, and "
        "`lsh(causal=position)` is what released decoders compute";
    spec.limits.incremental = spec.limits.causal;
  }
  spec.operations = [settings](const MechanismSite& site, std::int64_t length) {
    return hash_operations(settings, site, length);
  };
  return spec;
}

}  // namespace weft::attention
