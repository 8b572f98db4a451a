// SPDX-License-Identifier: Apache-2.0
// Paths and methods in two maps.
#include "weft/server/router.h"

#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/server/http_error.h"

namespace weft::server {

void Router::add(const std::string& method, const std::string& path, Handler handle, Operation operation) {
  routes_[path][method] = {std::move(handle), std::move(operation)};
}

const Route& Router::find(const std::string& method, const std::string& path) const {
  const auto found = routes_.find(path);
  if (found == routes_.end()) {
    throw HttpError(status::kNotFound, "not_found",
                    concat("there is no ", quote(path), "; GET /v1/models lists what is served"));
  }
  const auto route = found->second.find(method == "HEAD" ? "GET" : method);
  if (route == found->second.end()) {
    throw HttpError(status::kNoMethod, "method_not_allowed",
                    concat("the method of ", path, " is ", methods(path), ", found ", quote(method)));
  }
  return route->second;
}

std::string Router::label(const std::string& path) const { return routes_.contains(path) ? path : "other"; }

std::string Router::methods(const std::string& path) const {
  const auto found = routes_.find(path);
  if (found == routes_.end()) {
    return {};
  }
  return joined(found->second, ", ",
                [](const auto& entry) { return entry.first + (entry.first == "GET" ? ", HEAD" : ""); });
}

}  // namespace weft::server
