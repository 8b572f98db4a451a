// SPDX-License-Identifier: Apache-2.0
// What the answers of a connection share, whether they are written whole or as events.
#pragma once

#include <chrono>
#include <string>

#include <boost/beast/http/field.hpp>
#include <boost/beast/http/message.hpp>

#include "weft/server/message.h"

namespace weft::server {

inline constexpr unsigned kHttp10 = 10;  ///< versions as Beast counts them
inline constexpr unsigned kHttp11 = 11;

inline std::chrono::nanoseconds time_of(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

/// The fields that every answer has, and `more`.
template <typename Body>
void set_common_fields(boost::beast::http::response<Body>& response, const std::string& type, const Fields& more) {
  response.set(boost::beast::http::field::content_type, type);
  response.set(boost::beast::http::field::cache_control, "no-store");
  response.set("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : more) {
    response.set(name, value);
  }
}

}  // namespace weft::server
