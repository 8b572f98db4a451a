// SPDX-License-Identifier: Apache-2.0
// What a preflight may be told is no secret: it says which methods this server has anywhere, and of no path that it is
// there.
#include "weft/server/cross_origin.h"

#include <algorithm>
#include <string>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"

namespace weft::server {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "0123456789";

// SCHEME://HOST[:PORT], without a path, a name of a user or a blank.
bool is_origin(std::string_view text) {
  const std::size_t end = text.find("://");
  if (end == std::string_view::npos || end == 0) {
    return false;
  }
  const std::string_view scheme = text.substr(0, end);
  const std::string_view host = text.substr(end + 3);
  const std::string letters = concat(kLetters, kDigits, "+-.");
  return kLetters.find(scheme.front()) != std::string_view::npos &&
         scheme.find_first_not_of(letters) == std::string_view::npos && !host.empty() &&
         host.find_first_of("/?#@*\\ \t") == std::string_view::npos;
}

// Names of fields, in a list; nothing where it is none. "*" would be a name that allows all others.
std::string names_of_fields(const std::vector<std::string_view>& lists) {
  const std::string letters = concat(kLetters, kDigits, "!#$%&'+-.^_`|~, ");
  std::string names;
  for (const std::string_view list : lists) {
    if (list.find_first_not_of(letters) != std::string_view::npos) {
      return {};
    }
    names += names.empty() ? std::string(list) : concat(", ", list);
  }
  return names;
}

bool is_allowed(const Head& head, const ServerConfig& config) {
  return head.origins.size() == 1 && is_allowed_origin(head.origins.front(), config);
}

}  // namespace

void check_origins(const ServerConfig& config) {
  for (const std::string& origin : config.allowed_origins) {
    if (origin != "null" && !is_origin(origin)) {
      throw Error(ErrorKind::kArgument,
                  concat(option("allowed_origins"), " has ", quote(origin),
                         "; expected what browsers send as Origin, such as https://example.org or null"),
                  "name each origin, without a path or a slash at its end");
    }
  }
}

bool is_preflight(std::string_view method, const Head& head, const ServerConfig& config) {
  return method == "OPTIONS" && head.asked_methods.size() == 1 && is_allowed(head, config);
}

Fields cross_origin_fields(std::string_view method, const Head& head, const ServerConfig& config) {
  if (config.allowed_origins.empty()) {
    return {};
  }
  Fields fields = {{"Vary", "Origin"}};
  if (!is_allowed(head, config)) {
    return fields;
  }
  fields.emplace_back("Access-Control-Allow-Origin", head.origins.front());
  if (!is_preflight(method, head, config)) {
    fields.emplace_back("Access-Control-Expose-Headers", "Retry-After, X-Compute-Tokens, X-Truncated-Tokens");
    return fields;
  }
  fields.emplace_back("Access-Control-Allow-Methods", "GET, HEAD, POST");
  if (const std::string names = names_of_fields(head.asked_fields); !names.empty()) {
    fields.emplace_back("Access-Control-Allow-Headers", names);
  }
  fields.emplace_back("Access-Control-Max-Age", "600");
  return fields;
}

}  // namespace weft::server
