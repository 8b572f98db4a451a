// SPDX-License-Identifier: Apache-2.0
// Evenly spaced runs of tokens, all of a small corpus.
#include "weft/data/unknown_share.h"

#include <algorithm>
#include <vector>

#include "weft/text/unknown_tokens.h"

namespace weft::data {

void warn_of_unknown_tokens(const TokenSource& source, const text::Tokenizer& tokenizer, const std::string& where,
                            const std::string& what) {
  constexpr std::int64_t kTokensOfRun = 4096;
  constexpr std::int64_t kMostRuns = 256;
  if (source.size() == 0 || !text::unknown_id(tokenizer)) {
    return;
  }
  text::UnknownTokens unknown(tokenizer, where);
  const std::int64_t all = (source.size() + kTokensOfRun - 1) / kTokensOfRun;
  const std::int64_t runs = std::min(all, kMostRuns);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(std::min(kTokensOfRun, source.size())));
  const std::int64_t last = source.size() - static_cast<std::int64_t>(ids.size());
  for (std::int64_t run = 0; run < runs; ++run) {
    source.read(runs == 1 ? 0 : last / (runs - 1) * run, ids);
    unknown.add(ids);
  }
  unknown.warn(what);
}

}  // namespace weft::data
