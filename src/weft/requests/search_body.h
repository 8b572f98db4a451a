// SPDX-License-Identifier: Apache-2.0
// What a client says of a search, and what it is answered.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/fields.h"
#include "weft/formats/config_json.h"
#include "weft/server/message.h"
#include "weft/server/operation.h"
#include "weft/store/search.h"

namespace weft::requests {

/// Passages that a search may list.
inline constexpr std::int64_t kMostPassages = 100;

/// A body {"query", "by", "top_k"}.
struct SearchBody {
  std::string query;
  std::string by = "auto";
  std::int64_t top_k = 10;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = SearchBody;
    visit(Field{"query", &C::query, "what the passages are to answer"});
    visit(Field{"by", &C::by,
                "what passages are found by: words, vectors, or both rankings joined; auto is both where there are "
                "vectors"}
              .one_of({store::kSearchWays.begin(), store::kSearchWays.end()}));
    visit(Field{"top_k", &C::top_k, "passages that are listed, best first"}.range(1, kMostPassages));
  }
};

/// Errors: kArgument for a body without a query, with other members, or with values that are out of range.
SearchBody read_search_body(const formats::Json& body);

/// What a search reads and may answer with.
struct SearchedTexts {
  std::int64_t passages = 0;
  std::vector<std::int64_t> longest;  ///< bytes of the longest of them, kMostPassages or all, the longest first
};

/// The query and the scan of all passages, and the longest of them as the answer.
server::Cost search_cost(const SearchBody& body, const SearchedTexts& texts);

/// {"by", "passages": [{"id", "begin", "score", "title", "text"}]}, "title" where there is one.
server::Operation search_operation();

}  // namespace weft::requests
