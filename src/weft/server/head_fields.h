// SPDX-License-Identifier: Apache-2.0
// The parser of Beast as connections use it, and the fields of its head that the guards look at.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <boost/beast/core/string_type.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "weft/server/guards.h"
#include "weft/server/limits.h"

namespace weft::server {

/// Beast's parser without folded lines (obs-fold, RFC 9112, section 5.2): Beast takes a line that begins with a blank
/// for the end of the field before it, and others take it for a field of its own, which may be a length.
class RequestParser final : public boost::beast::http::request_parser<boost::beast::http::string_body> {
 private:
  // A value lies behind its name, with blanks between; one that was folded lies behind a line end, or, joined, in
  // memory of Beast's own, far away.
  void on_field_impl(boost::beast::http::field name, boost::beast::string_view name_text,
                     boost::beast::string_view value, boost::system::error_code& error) override {
    constexpr std::uintptr_t kLongestHead = std::uintptr_t{1} << 21;
    const auto address = [](const char* at) { return reinterpret_cast<std::uintptr_t>(at); };
    const char* const end = name_text.data() + name_text.size();
    const std::uintptr_t distance = address(value.data()) - address(end);
    const bool folded = distance > kLongestHead ||
                        std::string_view(end, static_cast<std::size_t>(distance)).find('\r') != std::string_view::npos;
    if (value.data() != nullptr && folded) {
      error = boost::beast::http::error::bad_obs_fold;
      return;
    }
    get().insert(name, name_text, value);
  }
};

inline std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

/// Gives the parser the sizes of `config`.
inline void limit_parser(RequestParser& parser, const ServerConfig& config) {
  parser.header_limit(static_cast<std::uint32_t>(config.max_header_bytes));
  parser.body_limit(static_cast<std::uint64_t>(config.max_body_bytes));
}

/// The head of a request, whose text `fields` holds.
template <typename Fields>
Head head_of(const Fields& fields) {
  using Name = boost::beast::http::field;
  const auto values = [&](Name name) {
    std::vector<std::string_view> all;
    const auto range = fields.equal_range(name);
    for (auto field = range.first; field != range.second; ++field) {
      all.push_back(view(field->value()));
    }
    return all;
  };
  return {.version = static_cast<int>(fields.version()),
          .target = view(fields.target()),
          .hosts = values(Name::host),
          .origins = values(Name::origin),
          .lengths = values(Name::content_length),
          .transfers = values(Name::transfer_encoding),
          .encodings = values(Name::content_encoding),
          .keys = values(Name::authorization),
          .accepts = values(Name::accept),
          .expects = values(Name::expect),
          .asked_methods = values(Name::access_control_request_method),
          .asked_fields = values(Name::access_control_request_headers)};
}

}  // namespace weft::server
