// SPDX-License-Identifier: Apache-2.0
// Paths and methods in two maps.
#include "weft/server/router.h"

#include <string_view>

#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/server/http_error.h"

namespace weft::server {
namespace {

// The part of a path behind `at`, up to the next slash.
std::string_view part_at(std::string_view path, std::size_t at) { return path.substr(at, path.find('/', at) - at); }

bool matches(std::string_view pattern, std::string_view path) {
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = part_at(pattern, 1);
    const std::string_view found = part_at(path, 1);
    if (wanted != "*" && wanted != found) {
      return false;
    }
    pattern.remove_prefix(wanted.size() + 1);
    path.remove_prefix(found.size() + 1);
  }
  return pattern.empty() && path.empty();
}

}  // namespace

ErrorShape Router::error_shape(const std::string& path) const {
  for (const auto& [pattern, shape] : shapes_) {
    if (path.starts_with('/') && matches(pattern, path)) {
      return shape;
    }
  }
  return ErrorShape::kPlain;
}

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
