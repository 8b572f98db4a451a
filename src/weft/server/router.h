// SPDX-License-Identifier: Apache-2.0
// Which handler answers a path: paths are compared byte by byte, and none is ever a name of a file.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weft/server/forms/error_shape.h"
#include "weft/server/message.h"
#include "weft/server/operation.h"

namespace weft::server {

struct Route {
  Handler handle;
  Operation operation;
};

class Router {
 public:
  /// A path has no slash at its end, "/" aside. A later route takes the place of an earlier one.
  void add(const std::string& method, const std::string& path, Handler handle, Operation operation);
  /// Lets GET and HEAD of `path` in without a key; what is posted there needs one.
  void open(const std::string& path) { open_.insert(path); }
  bool is_open(const std::string& method, const std::string& path) const {
    return (method == "GET" || method == "HEAD") && open_.contains(path);
  }
  /// Lets requests posted to `path` have their key in the body's member "api_key", as LibreTranslate's clients do.
  void take_key_in_body(const std::string& path) { keys_in_body_.insert(path); }
  bool takes_key_in_body(const std::string& path) const { return keys_in_body_.contains(path); }
  /// Errors at `path` have this shape, whether or not it has a route: a shape tells nobody which models there are. "*"
  /// stands for one part of a path.
  void shape_errors(const std::string& path, ErrorShape shape) { shapes_.emplace_back(path, shape); }
  ErrorShape error_shape(const std::string& path) const;
  /// HEAD finds the route of GET. Errors: HttpError 404 for a path without a route, 405 for another method.
  const Route& find(const std::string& method, const std::string& path) const;
  /// `path` if it has a route, else "other": a label for metrics.
  std::string label(const std::string& path) const;
  /// The methods of a path, "GET, HEAD, POST"; empty without a route.
  std::string methods(const std::string& path) const;
  /// By path, then by method.
  const std::map<std::string, std::map<std::string, Route>>& routes() const { return routes_; }

 private:
  std::map<std::string, std::map<std::string, Route>> routes_;
  std::set<std::string> open_;
  std::set<std::string> keys_in_body_;
  std::vector<std::pair<std::string, ErrorShape>> shapes_;
};

}  // namespace weft::server
